"""Export a saved model to a search page in one file, or its codes to other search engines.

html      one page that finds pictures for typed words, in any browser, without a server or a network
faiss     a flat binary index, and an inverted-file index (IVF) in a second file
parquet   id, code, caption, labels, position on a map, neighbours; embedding-atlas opens it
pgvector  a file for psql: a table with a column bit(n) and an ivfflat index by Hamming distance

There is no graph index (HNSW): many items have identical codes, and a graph among them misses results.
"""

from argparse import ArgumentParser, Namespace
from operator import methodcaller
from pathlib import Path

from smfh.commands import options
from smfh.commands.evaluate import check_data
from smfh.datasets import DATASETS
from smfh.export.engines import TABLE, code_table, faiss_files, parquet_file, pgvector_file
from smfh.export.page import search_page
from smfh.files.atomic import write_atomically
from smfh.hamming import DISTANCES
from smfh.hashing import FittedHasher, load_hasher
from smfh.retrieval.search import TIES
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh fit emoji --save emoji64.npz
  python -m smfh export emoji64.npz --to html --out emoji.html --dataset emoji
  python -m smfh export emoji64.npz --to faiss --out emoji.faiss --dataset emoji
  python -m smfh export emoji64.npz --to parquet --out emoji.parquet --dataset emoji
      then: embedding-atlas emoji.parquet --x x --y y --neighbors neighbors --text caption
  python -m smfh export emoji64.npz --to pgvector --out emoji.sql --dataset emoji --table emoji"""
FORMATS = ("html", "faiss", "parquet", "pgvector")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL.npz", help="a model file written by `fit --save`")
    add("--to", required=True, choices=FORMATS, help="output format")
    add("--out", required=True, metavar="FILE", help="output file; faiss writes a second file next to it")
    add("--dataset", required=True, help=f"its training data: one of {', '.join(DATASETS)}, or a file")
    options.add_options(parser, *options.DATA_OPTIONS)
    add("--source", help="modality of the typed words (html; default: the first that can encode words)")
    add("--target", help="modality to search (default for html: the first that is not --source; else the first)")
    add(
        "--ties",
        default="likeness",
        choices=list(TIES),
        help="order of items at the same distance (html): most similar first, or database order, which "
        "gives a smaller file",
    )
    about = f"{' '.join(DISTANCES.values())} Default: asymmetric for html; the other formats always use Hamming."
    options.add_options(parser, "distance", default=None, help=about)
    add("--table", default=TABLE, help=f"name of the table (pgvector; default {TABLE})")


def run(arguments: Namespace) -> None:
    out, hasher, (source, rows) = collect_problems(
        lambda: options.output_path(arguments.out, "--out"),
        lambda: load_hasher(Path(arguments.model)),
        lambda: options.chosen_data(arguments),
    )
    if out.resolve() == Path(arguments.model).resolve():
        raise InputError(f"--out is the model file itself, {out}; choose another name.")
    if not any(map(len, hasher.database_codes.values())):
        raise InputError(
            f"{arguments.model} has no codes: it was trained on shards, and the codes are stored there. To export "
            "them, train the method on the data set in memory (fit DATASET --save MODEL.npz)."
        )
    data, split = source.load(rows, arguments.split_seed)
    check_data(hasher, data, split)
    contents = exported_files(hasher, data, split, arguments)
    files = [out, out.with_suffix(f".ivf{out.suffix}")]  # the second is faiss's inverted-file index
    for file, content in zip(files, contents, strict=False):
        write_atomically(file, methodcaller("write", content))
        print(f"{file}: {len(split.train):,} items, {len(content) / 1e6:.2f} MB")


def exported_files(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, arguments: Namespace
) -> tuple[bytes, ...]:
    """Return the contents of the output files in the chosen format; faiss has two files."""
    distance = arguments.distance or ("asymmetric" if arguments.to == "html" else "hamming")
    if arguments.to == "html":
        how = arguments.source, arguments.target, arguments.ties, distance
        return (search_page(hasher, data, split, *how).encode(),)
    if distance != "hamming":
        raise InputError(f"{arguments.to} searches by Hamming distance only; for {distance}, use --to html.")
    table = code_table(hasher, data, split, arguments.target)
    if arguments.to == "faiss":
        return faiss_files(table)
    return (parquet_file(table) if arguments.to == "parquet" else pgvector_file(table, arguments.table),)
