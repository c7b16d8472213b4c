"""Read pictures in common layouts: class folders, a table, COCO, Flickr captions, Parquet with picture bytes.

Every layout is converted to items. An item is a picture with its captions, its labels and its part of the
split. A table is preferred to folders; labels and parts that the table lacks come from the folder names.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smfh.datasets.source import OnProgress
from smfh.datasets.user_pictures import MAX_TOTAL_PIXELS, PictureCache
from smfh.datasets.user_rows import (
    LABELS,
    PICTURE,
    Columns,
    Skipped,
    UploadedRows,
    find_captions,
    find_column,
    name_modalities,
    part_of,
    split_cells,
)
from smfh.files import TABLE_SUFFIXES, Listing, Table, read_json_file, read_table
from smfh.files.limits import MAX_MODALITIES, MAX_PICTURE_BYTES, MAX_PICTURES
from smfh.types import InputError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".jpe", ".gif", ".webp", ".bmp", ".heic", ".heif")
HEIC_SUFFIXES = (".heic", ".heif")
CAPTION_LISTS = (".txt", ".token")
MAX_COCO_FILES = 8


@dataclass(eq=False)
class Item:
    """A picture with everything that the files say about it."""

    place: str  # where the item was found, for messages
    captions: dict[str, list[str]] = field(default_factory=dict)  # by modality
    labels: dict[str, None] = field(default_factory=dict)
    part: str = ""  # train, validation, test or ""

    def add(self, modality: str, texts: Any) -> None:
        """Add a caption, or a list of captions; empty ones are ignored."""
        for text in texts if isinstance(texts, list) else [texts]:
            words = text.get("raw", "") if isinstance(text, dict) else text
            if words := str(words).strip():
                self.captions.setdefault(modality, []).append(words)


@dataclass(eq=False)
class Found:
    """The items found in a layout, and the entries that cannot be used."""

    layout: str
    items: dict[str, Item] = field(default_factory=dict)  # by name of the picture
    modalities: Sequence[str] = ()  # names of the text modalities
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: Callable[[str], bytes] | None = None  # returns a picture that is not a file of its own
    headings: tuple[str, ...] = ()
    columns: Columns | None = None
    separator: str = ""

    def item(self, picture: str, place: str) -> Item:
        return self.items.setdefault(picture, Item(place))


def has_pictures(files: Listing) -> bool:
    """Whether there are pictures: as files, or inside a .parquet file."""
    if files.ending(*PICTURE_SUFFIXES):
        return True
    return any(picture_column(read_table(files.get(name), name)) for name in files.ending(".parquet"))


def picture_column(table: Table) -> str:
    """Return the heading of the picture column of a .parquet file, as `datasets` writes it; "" if none."""
    if not table.name.lower().endswith(".parquet"):
        return ""
    named = [h for h in table.header if find_column([h], PICTURE)] or list(table.header)
    for _, cells, _ in table.rows(named):
        return next((h for h, cell in zip(named, cells, strict=True) if _picture_bytes(cell)), "")
    return ""


def parse_pictures(
    files: Listing,
    cache: PictureCache,
    columns: Columns | None = None,
    separator: str = "",
    several_texts: bool = False,
    max_pixels: float = MAX_TOTAL_PIXELS,
    on_progress: OnProgress = None,
) -> UploadedRows:
    """Detect the layout of the files and return its rows; table columns are guessed if not given."""
    found = _find_layout(files, columns, separator)
    if isinstance(found, UploadedRows):
        return found
    _complete(found)
    if len(found.items) > MAX_PICTURES:
        raise InputError(f"{files.name} has {len(found.items):,} pictures; the limit is {MAX_PICTURES:,}.")
    read = found.read or (lambda name: files.read(name, MAX_PICTURE_BYTES))
    cache.decode(found.items, read, max_pixels, on_progress)
    _skip_unusable(found, cache)
    return _to_rows(found, cache, several_texts)


def _find_layout(files: Listing, columns: Columns | None, separator: str) -> Found | UploadedRows:
    if coco := _read_coco(files):
        return coco
    names = [*files.ending(*TABLE_SUFFIXES), *files.ending(*CAPTION_LISTS)]
    tables: list[Table] = []
    problems: list[str] = []
    for name in names:
        try:
            tables.append(read_table(files.get(name), name))
        except InputError as error:
            problems += [] if name.lower().endswith(CAPTION_LISTS) else error.problems
    embedded = [(table, heading) for table in tables if (heading := picture_column(table))]
    if embedded:
        return _read_embedded(embedded, columns, separator)
    usable = [t for t in tables if columns or guess_columns(t, files).picture]
    others = [table for table in tables if table.name.lower().endswith(TABLE_SUFFIXES)]
    has_classes = len({label for label, _ in folder_classes(files.ending(*PICTURE_SUFFIXES)).values()}) > 1
    usable = usable or ([] if has_classes else others[:1])
    if not usable:
        found = Found("pictures only", items={name: Item(name) for name in files.ending(*PICTURE_SUFFIXES)})
        found.notes += [f"{table.name} is not used: it has no column of pictures." for table in others]
        found.notes += [f"Not used: {problem}" for problem in problems]
        return found
    header = Counter(table.header for table in usable).most_common(1)[0][0]
    return _read_tables([table for table in usable if table.header == header], files, columns, separator)


# tables ------------------------------------------------------------------------------------------------


def guess_columns(table: Table, files: Listing | None = None) -> Columns:
    """Guess the role of each column from its heading.

    The picture column is also recognised by a picture's file name in the first row.
    """
    picture = find_column(table.header, PICTURE)
    if not picture and files is not None:
        _, cells, _ = next(table.rows(table.header), (0, (), ""))
        written = [str(c) if str(c).lower().endswith(PICTURE_SUFFIXES) else "" for c in cells]
        found = find_pictures(written, table.name, list(files.sizes))
        picture = next((h for h, name in zip(table.header, found, strict=False) if name), "")
    captions = tuple(h for h in find_captions(table.header) if h != picture)
    return Columns(picture, captions, find_column([h for h in table.header if h != picture], LABELS))


def column_problems(table: Table, columns: Columns) -> list[str]:
    """Return messages about missing, unknown or too many columns; empty if there is no problem."""
    has = f"it has {', '.join(table.header[:20])}"
    if not columns.picture:
        return [f"{table.name} has no column for pictures, such as {', '.join(PICTURE[:4])}; {has}."]
    if len(columns.captions) >= MAX_MODALITIES:
        many = f"{len(columns.captions):,} columns of captions"
        return [f"{table.name} has {many}; the limit is {MAX_MODALITIES} modalities."]
    unknown = [h for h in (columns.picture, *columns.captions, columns.labels) if h and h not in table.header]
    return [f"{table.name} has no column {heading!r}; {has}." for heading in unknown]


def _read_tables(
    tables: Sequence[Table], files: Listing, columns: Columns | None, separator: str
) -> Found | UploadedRows:
    """Read tables with the same columns, for example one in each of the folders train and test."""
    columns = columns or guess_columns(tables[0], files)
    headings = tables[0].header
    if problems := column_problems(tables[0], columns):
        return UploadedRows("a table", problems=problems, headings=headings, columns=columns)
    modalities = name_modalities(columns.captions)
    found = Found("pictures with a table", modalities=list(modalities), headings=headings, columns=columns)
    split = find_column(headings, ("split", "part", "subset"))
    wanted = list(filter(None, [columns.picture, *columns.captions, columns.labels, split]))
    for table in tables:
        contents = table.read(wanted)
        labels, found.separator = split_cells(contents.cells.get(columns.labels, ()), separator)
        written = [str(cell).partition("#")[0] for cell in contents.cells[columns.picture]]
        pictures = find_pictures(written, table.name, list(files.sizes))
        for row, number in enumerate(contents.numbers):
            place = f"Row {number} of {table.name}"
            if row in contents.problems:
                found.skipped.append(Skipped(place, "damaged row", contents.problems[row]))
            elif not pictures[row]:
                reason = f"{written[row][:80]!r} was not found, or is in several folders"
                found.skipped.append(Skipped(place, "missing picture", reason))
            else:
                item = found.item(pictures[row], place)
                for modality, heading in modalities.items():
                    item.add(modality, contents.cells[heading][row])
                item.labels |= dict.fromkeys(labels[row] if labels else ())
                item.part = item.part or (part_of(str(contents.cells[split][row])) if split else "")
        if not contents.numbers:
            found.notes.append(f"{table.name} has a header but no rows.")
    return found


def find_pictures(written: Sequence[str], table: str, names: Sequence[str]) -> list[str]:
    """Return the file that each cell of the picture column names; "" if there is none.

    A cell may contain the path from the top folder or from the table's folder, or only the file name, with or
    without extension, if exactly one file has this name.
    """
    paths = {name.replace("\\", "/"): name for name in names if name != table}
    by_name: dict[str, set[str]] = {}
    for path, name in paths.items():
        base = posixpath.basename(path).casefold()
        for key in (base, posixpath.splitext(base)[0]):
            by_name.setdefault(key, set()).add(name)
    folder = posixpath.dirname(table)
    found = []
    for cell in (cell.replace("\\", "/").removeprefix("./") for cell in written):
        same_name = by_name.get(posixpath.basename(cell).casefold(), set())
        unique = next(iter(same_name)) if len(same_name) == 1 else ""
        found.append(paths.get(posixpath.join(folder, cell)) or paths.get(cell) or unique)
    return found


def _read_embedded(
    tables: Sequence[tuple[Table, str]], columns: Columns | None, separator: str
) -> Found | UploadedRows:
    """Read .parquet files with a column of pictures; the name of a picture is FILE#ROW."""
    first, heading = tables[0]
    guess = guess_columns(first)
    columns = columns or Columns(heading, tuple(h for h in guess.captions if h != heading), guess.labels)
    if problems := column_problems(first, columns):
        return UploadedRows("Parquet", problems=problems, headings=first.header, columns=columns)
    modalities = name_modalities(columns.captions)
    found = Found("Parquet with pictures", modalities=list(modalities), headings=first.header, columns=columns)
    wanted = list(filter(None, [*columns.captions, columns.labels]))
    by_name = {table.name: table for table, _ in tables if table.header == first.header}
    for table in by_name.values():
        contents = table.read(wanted)
        labels, found.separator = split_cells(contents.cells.get(columns.labels, ()), separator)
        for row, number in enumerate(contents.numbers):
            item = found.item(f"{table.name}#{number}", f"Row {number} of {table.name}")
            for modality, name in modalities.items():
                item.add(modality, contents.cells[name][row])
            item.labels |= dict.fromkeys(labels[row] if labels else ())
            item.part = part_of(posixpath.basename(table.name).split("-")[0].split(".")[0])
    open_rows: dict[str, Iterator[Any]] = {}

    def read(name: str) -> bytes:
        """Return the bytes of a picture; pictures are requested in order, so each table is read once."""
        table, _, wanted_row = name.rpartition("#")
        rows = open_rows.setdefault(table, by_name[table].rows([columns.picture]))
        for number, (cell,), _ in rows:
            if number == int(wanted_row):
                return _picture_bytes(cell)
        return b""

    found.read = read
    return found


def _picture_bytes(cell: Any) -> bytes:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    return content if isinstance(content, bytes) else b""


# COCO and folders --------------------------------------------------------------------------------------


def _read_coco(files: Listing) -> Found | None:
    """Read COCO files (images, and annotations with captions or categories); None if there are none."""
    known: list[tuple[str, dict[str, Any]]] = []
    for name in files.ending(".json")[:MAX_COCO_FILES]:
        value = read_json_file(files.get(name), name)
        if isinstance(value, dict) and isinstance(value.get("images"), list):
            known.append((name, value))
    if not known:
        return None
    found = Found("COCO", modalities=["text"])
    missing: set[str] = set()
    for name, value in known:
        images = {}
        for image in filter(lambda one: isinstance(one, dict), value["images"]):
            images[str(image.get("id"))] = str(image.get("file_name", ""))
        pictures = dict(zip(images, find_pictures(list(images.values()), name, list(files.sizes)), strict=True))
        missing |= {images[number] for number, picture in pictures.items() if not picture}
        for number, picture in pictures.items():
            if picture:
                found.item(picture, f"{images[number]} of {name}")
        categories = {str(one.get("id")): str(one.get("name", "")).strip() for one in _objects(value.get("categories"))}
        for one in _objects(value.get("annotations")):
            if not (picture := pictures.get(str(one.get("image_id")), "")):
                continue
            found.items[picture].add("text", one.get("caption") or "")
            if label := categories.get(str(one.get("category_id")), ""):
                found.items[picture].labels[label] = None
    found.skipped += [Skipped(name, "missing picture", "was not found") for name in sorted(missing)]
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def folder_classes(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the class and the part of the split of each picture, from the names of its folders.

    For photos/train/cat/1.png they are cat and train. A folder that contains all pictures is not a class, and
    neither is a folder named after a part.
    """
    folders = {name: name.replace("\\", "/").split("/")[:-1] for name in names}
    shared = len(posixpath.commonprefix(list(folders.values())))
    said = {}
    for name, path in folders.items():
        parts = [part_of(folder) for folder in path]
        classes = [folder for folder, part in zip(path[shared:], parts[shared:], strict=True) if not part]
        said[name] = (classes[-1] if classes else "", next(filter(None, parts), ""))
    return said


def _complete(found: Found) -> None:
    """Use folder names as labels if no item has a label, and as parts of items that have none."""
    said = folder_classes(list(found.items)) if found.read is None else {}
    sizes = Counter(label for label, _ in said.values() if label)
    use_folders = len(sizes) > 1 and 2 * len(sizes) <= sum(sizes.values())
    if use_folders and not any(item.labels for item in found.items.values()):
        found.layout = "one folder per class" if found.layout == "pictures only" else found.layout
        found.notes.append(f"The {len(sizes):,} folders are the classes.")
        for name, item in found.items.items():
            item.labels |= dict.fromkeys(filter(None, [said[name][0]]))
    for name, (_, part) in said.items():
        found.items[name].part = found.items[name].part or part


def _skip_unusable(found: Found, cache: PictureCache) -> None:
    """Remove the items that cannot be used, and list them with the reason."""
    has_labels = any(item.labels for item in found.items.values())
    has_texts = any(item.captions for item in found.items.values())
    seen: dict[bytes, str] = {}
    for name, item in list(found.items.items()):
        digest = cache.digests.get(name, b"")
        if problems := cache.problems.get(name):
            kind = "too large" if "limit" in problems[0] else "unreadable"
            kind = "HEIC" if name.lower().endswith(HEIC_SUFFIXES) and kind == "unreadable" else kind
            skipped = Skipped(name, kind, problems[0].removeprefix(f"{name} "))
        elif first := seen.get(digest):
            skipped = Skipped(name, "duplicate", f"is the same picture as {first}")
        elif has_labels and not item.labels:
            skipped = Skipped(item.place, "no label", "has no label")
        elif has_texts and not item.captions and not item.labels:
            skipped = Skipped(item.place, "no caption", "has no caption")
        else:
            seen[digest] = name
            continue
        found.skipped.append(skipped)
        del found.items[name]


def _to_rows(found: Found, cache: PictureCache, several_texts: bool) -> UploadedRows:
    """Return one row for each item or, with `several_texts`, one row for each caption of an item."""
    has_labels = any(item.labels for item in found.items.values())
    has_texts = any(item.captions for item in found.items.values())
    modalities = list(found.modalities) if has_texts else []
    rows = UploadedRows(
        layout=found.layout,
        skipped=found.skipped,
        notes=found.notes,
        headings=found.headings,
        columns=found.columns,
        separator=found.separator,
        has_several_captions=any(len(t) > 1 for i in found.items.values() for t in i.captions.values()),
    )
    labels, pictures, names, parts, groups = [], [], [], [], list[int]()
    captions: dict[str, list[str]] = {modality: [] for modality in modalities}
    for group, (name, item) in enumerate(found.items.items()):
        texts = {modality: item.captions.get(modality, [""]) for modality in modalities}
        count = max(map(len, texts.values()), default=1) if several_texts else 1
        for number in range(count):
            for modality, own in texts.items():
                captions[modality].append(own[number % len(own)] if several_texts else "\n".join(own))
            labels.append(tuple(item.labels))
            pictures.append(cache.decoded[name])
            names.append(name)
            parts.append(item.part)
            groups.append(group)
    return replace(
        rows,
        labels=labels if has_labels else None,
        captions=captions,
        pictures=pictures,
        names=names,
        parts=parts if any(parts) else [],
        groups=groups if len(np.unique(groups)) < len(groups) else [],
    )
