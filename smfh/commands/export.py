"""export: a saved model to take along.

html      one page that answers words with pictures, in any browser, without server or network
faiss     a flat binary index, and one of lists (IVF) beside it
parquet   id, code, caption, labels, a place on a map, neighbours; embedding-atlas opens it
pgvector  a file for psql: a table with a column bit(n) and an ivfflat index by Hamming distance

There is no graph index (HNSW) among them: codes learnt from labels repeat, and a graph among equal codes
loses answers.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path

from smfh.asking import TIES
from smfh.commands import options
from smfh.commands.evaluate import check_modalities, check_rows
from smfh.datasets import DATASETS
from smfh.export.engines import TABLE, code_table, faiss_files, parquet_file, pgvector_file
from smfh.export.page import search_page
from smfh.files.whole import write_whole
from smfh.hashing import FittedHasher, load_hasher
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh fit emoji --save emoji64.npz
  python -m smfh export emoji64.npz --to html --out emoji.html --dataset emoji
  python -m smfh export emoji64.npz --to faiss --out emoji.faiss --dataset emoji
  python -m smfh export emoji64.npz --to parquet --out emoji.parquet --dataset emoji
      then: embedding-atlas emoji.parquet --x x --y y --neighbors neighbors --text caption
  python -m smfh export emoji64.npz --to pgvector --out emoji.sql --dataset emoji --table emoji"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL.npz", help="a model that `fit --save` wrote")
    add("--to", required=True, choices=list(FORMATS), help="what to make of it")
    add(
        "--out",
        required=True,
        metavar="FILE",
        help="the file to write; faiss writes two, the other beside it",
    )
    add("--dataset", required=True, help=f"what it was trained on: one of {', '.join(DATASETS)}, or a file")
    options.add_option_argument(parser)
    options.add_split_arguments(parser)
    add("--source", help="the modality of typed words (html; default: the first that takes them)")
    add(
        "--target",
        help="the modality that is searched (default: the first that is not --source for html, else the "
        "model's first)",
    )
    add(
        "--ties",
        default="likeness",
        choices=list(TIES),
        help="equal distances on the page: most alike first, or in database order (a smaller file)",
    )
    add("--table", default=TABLE, help=f"the table's name (pgvector; default {TABLE})")


def run(arguments: Namespace) -> None:
    out, hasher, (source, rows) = collect_problems(
        lambda: checked_out(Path(arguments.out), Path(arguments.model)),
        lambda: load_codes(Path(arguments.model)),
        lambda: options.chosen_data(arguments),
    )
    data, split = source.load(rows, arguments.split_seed)
    check_modalities(hasher, data)
    check_rows(hasher, data, split)
    contents = FORMATS[arguments.to](hasher, data, split, arguments)
    files = [out, out.with_suffix(f".ivf{out.suffix}")]  # the other is faiss's index of lists
    for file, content in zip(files, contents, strict=False):
        write_whole(file, methodcaller("write", content))
        print(f"{file}: {len(split.train):,} items, {len(content) / 1e6:.2f} MB")


def checked_out(out: Path, model: Path) -> Path:
    """The file to write, whatever it is called; refused before the work where it cannot be one."""
    if not out.parent.is_dir() or out.is_dir():
        raise InputError(f"--out needs a file name in a folder that exists; got {out}.")
    if out.resolve() == model.resolve():
        raise InputError(f"--out is the model itself, {out}; name another file.")
    return out


def load_codes(path: Path) -> FittedHasher:
    """The model with the codes of its training items, without which there is nothing to take along."""
    hasher = load_hasher(path)
    if not any(map(len, hasher.database_codes.values())):
        raise InputError(
            f"{path} holds no codes: it was trained on shards, and the codes stay there. Train the method on "
            "the data set in memory (fit DATASET --save MODEL.npz) to export them."
        )
    return hasher


def page_file(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, arguments: Namespace
) -> tuple[bytes, ...]:
    page = search_page(hasher, data, split, arguments.source, arguments.target, arguments.ties)
    return (page.encode(),)


def code_files(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, arguments: Namespace
) -> tuple[bytes, ...]:
    table = code_table(hasher, data, split, arguments.target)
    if arguments.to == "faiss":
        return faiss_files(table)
    if arguments.to == "parquet":
        return (parquet_file(table),)
    return (pgvector_file(table, arguments.table),)


Make = Callable[[FittedHasher, MultimodalDataset, Split, Namespace], tuple[bytes, ...]]  # a file each
FORMATS: dict[str, Make] = {
    "html": page_file,
    "faiss": code_files,
    "parquet": code_files,
    "pgvector": code_files,
}
