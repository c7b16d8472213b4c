"""Write a data set as shards, to train on more items than fit in memory, or on several machines."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from smfh.commands import options
from smfh.datasets import UserDataset
from smfh.engine import ROWS_PER_PART, Folder, is_streamed, stream_files, stream_source, write_shards
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh shard wiki --to shards                        then: python -m smfh fit --shards shards
  python -m smfh shard synthetic --items 2000000 --to shards   made block by block, never all in memory
  python -m smfh shard folder/ --to shards                     image.npy, text.npy, …, labels.npy of any size
  python -m smfh shard pairs.parquet --to s3://bucket/shards   columns of lists, and labels; any address

A .npz with an array `labels` and one array per modality, and a .parquet with such columns, are read block by
block; --split-seed chooses the rows that are held out as queries. Other files are read as `fit` reads them.
`shard synthetic --items N` writes the items of `fit synthetic --option items=N`, so training gives the same codes."""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_data_arguments(parser)
    add = parser.add_argument
    add("--to", required=True, metavar="DIR", help="an empty folder, or any address that fsspec supports")
    add("--items", type=int, help="number of training items; for synthetic, of training items and queries")
    add(
        "--rows-per-part",
        type=int,
        default=ROWS_PER_PART,
        metavar="R",
        help=f"rows in each file, a multiple of the block size (default {ROWS_PER_PART:,}); does not change the codes",
    )


def run(arguments: Namespace) -> None:
    if arguments.items is not None:
        options.check_count("--items", arguments.items)
    path, seed = Path(arguments.dataset), arguments.split_seed
    is_file = is_streamed(path)  # read block by block
    if is_file and arguments.split != "default":
        raise InputError(f"{path.name} has no --split; --split-seed chooses its held-out queries.")
    source, split = (None, "default") if is_file else options.chosen_data(arguments)
    if arguments.option and (source is None or isinstance(source, UserDataset)):
        raise InputError(f"{path} is a file; --option {arguments.option[0]} works only with a built-in data set.")
    if source is None:
        stream = stream_files(path, seed, arguments.items)
    else:
        stream = stream_source(source, split, seed, arguments.items)
    manifest = write_shards(stream, Folder(arguments.to), arguments.rows_per_part)
    size = sum(file.bytes for part in manifest.parts for file in part.files.values())
    print(
        f"{manifest.name}: {manifest.items:,} training items in {len(manifest.parts)} parts "
        f"({size / 1e9:.2f} GB), {manifest.queries.rows:,} held-out queries, in {arguments.to}"
    )
