"""List the data sets, or show what is in one."""

from argparse import ArgumentParser, Namespace

from smfh.commands import options
from smfh.datasets import DATASETS, DatasetSource, Emoji, found_files
from smfh.features.pictures import contact_sheet
from smfh.folders import data_folders
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh data                                    all data sets: ready, or what they need
  python -m smfh data wiki                               its files, its size, its labels
  python -m smfh data emoji --option labels=group --sheet emoji.png
  python -m smfh data wiki --fetch --data benchmarks     download it into benchmarks/wiki
  python -m smfh data emoji --remake                     make the file of the built-in set again"""
BAR_CHARACTERS = 40
SHEET_ITEMS = 96


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    options.add_data_arguments(parser, optional=True)
    add("--sheet", metavar="FILE.png", help=f"write a picture of the first {SHEET_ITEMS} items to this file")
    add("--fetch", action="store_true", help="download the data set, if it is publicly available")
    add("--remake", action="store_true", help="make the Emoji file again (python -m pip install '.[emoji]')")


def run(arguments: Namespace) -> None:
    if arguments.dataset is None:
        options.use_data_folder(arguments)
        print(f"Data folders: {', '.join(map(str, data_folders()))}\n")
        for known in DATASETS.values():
            print_card(known())
        return
    (source, rows), sheet = collect_problems(
        lambda: options.chosen_data(arguments), lambda: options.output_path(arguments.sheet, "--sheet", ".png")
    )
    if arguments.remake:
        from smfh.datasets.emoji_remake import remake

        if not isinstance(source, Emoji):
            raise InputError(f"--remake works only for {Emoji.name}; got {source.name}.")
        with options.show_progress() as show:
            remake(on_progress=show)
    if arguments.fetch:
        with options.show_progress() as show:
            source.fetch(show)
    print_card(source)
    if source.missing():
        return
    data, split = options.load(source, rows, arguments.split_seed)
    print_contents(data, split)
    if sheet is not None:
        if data.thumbnails is None:
            raise InputError(f"--sheet needs a data set with pictures; {data.name} has none.")
        items = min(SHEET_ITEMS, len(data))
        names = (data.captions or [""] * len(data))[:items]
        footer = f"The first {items} of {len(data):,} items. {source.card.terms}"
        sheet.write_bytes(contact_sheet(data.thumbnails[:items], names, footer))


def print_card(source: DatasetSource) -> None:
    """Print the description of a data set, and which of its files are missing."""
    card, missing = source.card, source.missing()
    print(f"{card.title} ({source.name}): {'not ready' if missing else 'ready'}")
    lines = [("about", card.about), ("size", card.size), ("terms", card.terms), ("origin", card.origin)]
    if card.files:
        lines += [("files", f"{card.folder}/: {', '.join(card.files)}")]
        lines += [("found", ", ".join(found_files(card)) or "none")]
    for label, text in [*lines, *(("missing", line) for line in missing)]:
        print(f"  {label:<8}{text}")
    print()


def print_contents(data: MultimodalDataset, split: Split) -> None:
    """Print the split, the modalities, and the number of items of each class."""
    print(f"  {len(data):,} items: {len(split.train):,} training items, {len(split.queries):,} held-out queries")
    for name, X in data.modalities.items():
        kind = f"sparse, {X.nnz / X.shape[0]:.1f} non-zero values per item" if hasattr(X, "nnz") else "dense"
        print(f"  {name}: {X.shape[1]:,} dimensions, {kind}")
    visible = {"captions": data.captions, "pictures": data.thumbnails}
    print(f"  to display: {', '.join(name for name in visible if visible[name] is not None) or 'nothing'}")
    if not data.has_labels:
        print("  no labels: only the rank of an item's matching item can be scored")
        return
    print(f"  classes: {data.labels.sum(axis=1).mean():.2f} per item")
    counts, width = data.labels.sum(axis=0), max(map(len, data.class_names))
    for count, name in sorted(zip(counts, data.class_names, strict=True), key=lambda pair: -pair[0]):
        print(f"    {name:<{width}} {count:>7,} {'▇' * round(BAR_CHARACTERS * count / counts.max())}")
