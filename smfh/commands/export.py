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
from smfh.types import MultimodalDataset, Split, collect_problems

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
    add("--out", required=True, metavar="FILE", help="the file to write")
    add("--dataset", required=True, help=f"what it was trained on: one of {', '.join(DATASETS)}, or a file")
    options.add_option_argument(parser)
    options.add_split_arguments(parser)
    add("--source", help="the modality of typed words (html; default: the first that takes them)")
    add("--target", help="the modality that is searched (default: the first other one)")
    add(
        "--ties",
        default="likeness",
        choices=list(TIES),
        help="equal distances on the page: most alike first, or in database order (a smaller file)",
    )
    add("--table", default=TABLE, help=f"the table's name (pgvector; default {TABLE})")


def run(arguments: Namespace) -> None:
    suffix, make = FORMATS[arguments.to]
    out, hasher, (source, rows) = collect_problems(
        lambda: options.writable_path(arguments.out, "--out", suffix),
        lambda: load_hasher(Path(arguments.model)),
        lambda: options.chosen_data(arguments),
    )
    data, split = source.load(rows, arguments.split_seed)
    check_modalities(hasher, data)
    check_rows(hasher, data, split)
    for ending, content in make(hasher, data, split, arguments).items():
        file = out.with_suffix(ending)
        write_whole(file, methodcaller("write", content))
        print(f"{file}: {len(split.train):,} items, {len(content) / 1e6:.2f} MB")


def page_files(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, arguments: Namespace
) -> dict[str, bytes]:
    page = search_page(hasher, data, split, arguments.source, arguments.target, arguments.ties)
    return {".html": page.encode()}


def code_files(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, arguments: Namespace
) -> dict[str, bytes]:
    table = code_table(hasher, data, split, arguments.target)
    if arguments.to == "faiss":
        return dict(zip((".faiss", ".ivf.faiss"), faiss_files(table), strict=True))
    if arguments.to == "parquet":
        return {".parquet": parquet_file(table)}
    return {".sql": pgvector_file(table, arguments.table)}


Make = Callable[[FittedHasher, MultimodalDataset, Split, Namespace], dict[str, bytes]]  # by suffix
FORMATS: dict[str, tuple[str, Make]] = {
    "html": (".html", page_files),
    "faiss": (".faiss", code_files),
    "parquet": (".parquet", code_files),
    "pgvector": (".sql", code_files),
}
