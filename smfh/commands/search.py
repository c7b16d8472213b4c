"""Search a data set with words, pictures or both, and print the nearest items.

A saved run of these settings is used; without one, the method is trained first and the run is saved. Words
that no training text contains are interpreted as related words, and items of exactly this name come first.
Items that contain all of the words come next if they are few. Words that begin with a minus sign, or follow
--not, exclude the items that have them.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from smfh.commands import options
from smfh.commands.fit import show_steps
from smfh.datasets import UserDataset
from smfh.files.content import check_size
from smfh.retrieval.search import (
    DATABASES,
    MAX_PICTURE_BYTES,
    MAX_RESULTS,
    Query,
    SearchResults,
    combine,
    exclude,
    find_language,
    picture_modalities,
    query_from_picture,
    query_from_words,
    search,
    text_modalities,
)
from smfh.retrieval.typed_words import split_excluded
from smfh.runs import RunStore, find_or_train
from smfh.types import InputError, MultimodalDataset, collect_problems

DECIMALS = 4  # of a distance in bits
EPILOG = """examples:
  python -m smfh search emoji "rainy day"
  python -m smfh search emoji "cat -face" -k 12
  python -m smfh search emoji animal --not "cat dog" --json
  python -m smfh search emoji --image photo.jpg
  python -m smfh search emoji red --image first.png --image second.png"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    options.add_data_arguments(parser)
    add("words", nargs="?", default="", help="words to search with, in quotes if there are several")
    add("-k", type=int, default=8, metavar="N", help=f"number of results, 1 to {MAX_RESULTS} (default 8)")
    add("--not", dest="without", default="", metavar="WORDS", help="exclude items that contain any of these words")
    add("--image", action="append", default=[], metavar="FILE", help="a picture; can be repeated")
    add("--target", help="modality to search (default: the first that is not the query's)")
    add("--database", default="all", choices=list(DATABASES), help="items to search (default all)")
    options.add_options(parser, "distance", default="asymmetric", help="default asymmetric, as on the pages")
    add("--exact-words", action="store_true", help="search with the exact words only: do not interpret unknown words")
    options.add_options(parser, "json")
    options.add_method_arguments(parser, default="smfh-plus")


def run(arguments: Namespace) -> None:
    if not arguments.words.strip() and not arguments.image:
        raise InputError("Type words to search with, or name a picture with --image.")
    if not 1 <= arguments.k <= MAX_RESULTS:
        raise InputError(f"-k must be 1 to {MAX_RESULTS}; got {arguments.k}.")
    method, (source, rows) = collect_problems(
        lambda: options.chosen_method(arguments), lambda: options.chosen_data(arguments)
    )
    data, split = options.load(source, rows, arguments.split_seed)
    query = make_query(data, arguments)
    target = arguments.target or next((name for name in data.modalities if name != query.source), query.source)
    with show_steps(method, []) as show:
        store = None if isinstance(source, UserDataset) else RunStore()
        hasher = find_or_train(store, source, method, data, split, show).hasher
    how = {"limit": arguments.k, "distance": arguments.distance}
    print_results(search(hasher, data, split, query, target, arguments.database, **how), data, arguments)


def make_query(data: MultimodalDataset, arguments: Namespace) -> Query:
    """Return the query of the words and pictures on the command line."""
    queries, texts = [], text_modalities(data)
    wanted, excluded = split_excluded(arguments.words)
    if wanted.strip() or (excluded and not arguments.image):
        language = find_language(data, texts[0] if texts else next(iter(data.modalities)), arguments.words)
        interpret = not arguments.exact_words
        queries.append(query_from_words(data, language, arguments.words, interpret, arguments.without))
    for name in arguments.image:
        if not (path := Path(name)).is_file():
            raise InputError(f"--image needs a picture file; there is no file {name}.")
        check_size(path.name, path.stat().st_size, MAX_PICTURE_BYTES)
        pictures = picture_modalities(data) or list(data.modalities)
        queries.append(query_from_picture(data, pictures[0], path.read_bytes(), path.name))
    return exclude(combine(queries), " ".join([*excluded, arguments.without]))


def print_results(results: SearchResults, data: MultimodalDataset, arguments: Namespace) -> None:
    """Print the results as a table or as JSON."""
    query = results.query
    captions = [""] * len(data) if data.captions is None else data.captions
    found: list[dict[str, Any]] = [
        {
            "row": int(row),
            "caption": captions[row],
            **({"file": data.item_names[row]} if data.item_names else {}),
            "labels": [data.class_names[k] for k in data.labels[row].nonzero()[0]],
            "distance": round(float(distance), DECIMALS),
        }
        for row, distance in zip(results.rows, results.distances, strict=True)
    ]
    if arguments.json:
        options.print_json(
            {
                "dataset": data.name,
                "interpreted_as": dict(query.interpreted_as),
                "excluded": query.excluded,
                "is_guess": query.is_guess,
                "is_unlike_all": results.is_unlike_all,
                "database": arguments.database,
                "exact_names": results.names,
                "containing_words": results.containing,
                "results": found,
            }
        )
        return
    for line in query.notes:
        print(line)
    if results.is_unlike_all:
        print("This picture is unlike anything in this data set. The results are guesses.")
    for rank, item in enumerate(found):
        labels = ", ".join(item["labels"])
        where = item.get("file", f"item {item['row']}")
        mark = "  (contains the words)" if results.names <= rank < results.names + results.containing else ""
        print(f"{item['distance']:7.2f} bits  {item['caption'] or labels}  [{labels}]  {where}{mark}")
    print(DATABASES[arguments.database])
