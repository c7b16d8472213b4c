"""shard: write a data set as shards, to train on more items than a memory holds, or on many machines."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from smfh.cluster import ROWS_PER_PART, Folder, Stream, is_streamed, stream_files, stream_source, write_shards
from smfh.commands import options
from smfh.datasets import OwnData
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh shard wiki --to shards                        then: python -m smfh fit --shards shards
  python -m smfh shard synthetic --items 2000000 --to shards   drawn block by block, never held
  python -m smfh shard folder/ --to shards                     image.npy, text.npy, …, labels.npy of any size
  python -m smfh shard pairs.parquet --to s3://bucket/shards   columns of lists, and labels; any address

A .npz with an array `labels` and one for each modality, and a .parquet with such columns, are read as they
go; some of their rows, drawn by --split-seed, are set aside to ask. Other files are read as `fit` reads them.
`shard synthetic --items N` has the items of `fit synthetic --option items=N`, and so the same codes."""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_data_arguments(parser)
    add = parser.add_argument
    add("--to", required=True, metavar="DIR", help="an empty folder, or an address that fsspec knows")
    add("--items", type=int, help="synthetic ones: any number, queries included; else the first that train")
    add(
        "--rows-per-part",
        type=int,
        default=ROWS_PER_PART,
        metavar="R",
        help=f"a multiple of a block (default {ROWS_PER_PART:,}); codes do not depend on it",
    )


def run(arguments: Namespace) -> None:
    if arguments.items is not None:
        options.check_count("--items", arguments.items)
    manifest = write_shards(chosen_stream(arguments), Folder(arguments.to), arguments.rows_per_part)
    size = sum(file.bytes for part in manifest.parts for file in part.files.values())
    print(
        f"{manifest.name}: {manifest.items:,} training items in {len(manifest.parts)} parts "
        f"({size / 1e9:.2f} GB), {manifest.queries.rows:,} queries, in {arguments.to}"
    )


def chosen_stream(arguments: Namespace) -> Stream:
    """A file or folder that is read as it goes, or a data set."""
    if is_streamed(path := Path(arguments.dataset)):
        if arguments.split != "default":
            raise InputError(f"{path.name} is read as it goes: --split-seed draws its queries, not --split.")
        refuse_options(arguments)
        return stream_files(path, arguments.split_seed, arguments.items)
    source, split = options.chosen_data(arguments)
    if isinstance(source, OwnData):
        refuse_options(arguments)
    return stream_source(source, split, arguments.split_seed, arguments.items)


def refuse_options(arguments: Namespace) -> None:
    """Of a file, which has none."""
    if arguments.option:
        raise InputError(f"{arguments.dataset} is a file, which has no --option; got {arguments.option[0]}.")
