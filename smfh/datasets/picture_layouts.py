"""Read pictures in common layouts: class folders, a table, COCO, Flickr captions, Parquet with picture bytes.

Every layout is converted to items. An item is a picture with its captions, its labels and its part of the
split. A table is preferred to folders; labels and parts that the table lacks come from the folder names.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from smfh.datasets.source import OnProgress
from smfh.datasets.user_pictures import MAX_TOTAL_PIXELS, PictureCache
from smfh.datasets.user_rows import (
    LABELS,
    PICTURE,
    SPLIT,
    Columns,
    Skipped,
    UploadedRows,
    find_captions,
    find_column,
    name_modalities,
    part_of,
    split_cells,
)
from smfh.features.text import split_words
from smfh.files import ARCHIVES, TABLE_SUFFIXES, Listing, Table, is_number, read_json_file, read_table, read_text
from smfh.files.limits import MAX_MODALITIES, MAX_PICTURE_BYTES, MAX_PICTURES
from smfh.types import InputError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".heic", ".heif")
HEIC_SUFFIXES = (".heic", ".heif")
CAPTION_LISTS = (".txt", ".token")
MAX_JSON_FILES = 50
MAX_TEXT_BYTES = 1 << 20  # of the text beside a picture
OTHER_PICTURES = (".tif", ".tiff", ".avif", ".svg", ".psd", ".jxl", ".jp2", ".dng", ".cr2", ".nef", ".arw")
HINTS = {  # what to do with files that are not read
    OTHER_PICTURES: "save it as JPEG or PNG",
    (".xlsx", ".xls", ".ods"): "save it as “CSV UTF-8”",
    ARCHIVES: "unpack it first",
}
PROBE_ROWS, PROBE_TEXTS = 1000, 100  # by which the role of a column is guessed
MIN_CAPTION_WORDS = 3  # on average; cells of labels have fewer
NO_ROLE = (*SPLIT, "license", "licence", "author", "source")  # columns of words that are neither captions nor labels


@dataclass(eq=False)
class Item:
    """A user's picture with its captions and labels, and the part of the split that it belongs to."""

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
    """The items found in a user's files, and the entries that cannot be used."""

    items: dict[str, Item] = field(default_factory=dict)  # by name of the picture
    modalities: Sequence[str] = ()  # names of the text modalities
    used: list[str] = field(default_factory=list)  # files other than pictures
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: Callable[[str], bytes] | None = None  # returns a picture that is not a file of its own
    headings: tuple[str, ...] = ()
    columns: Columns | None = None
    separator: str = ""


def has_pictures(files: Listing) -> bool:
    """Whether the files contain pictures, as picture files or inside a .parquet file."""
    if files.ending(*PICTURE_SUFFIXES):
        return True
    for name in files.ending(".parquet"):
        with suppress(InputError):
            if picture_column(read_table(files.get(name), name)):
                return True
    return False


def picture_column(table: Table) -> str:
    """Return the heading of the picture column of a .parquet file, as the package datasets writes it; "" if none."""
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
    keep_unlabelled: bool = False,
    max_pixels: float = MAX_TOTAL_PIXELS,
    on_progress: OnProgress = None,
) -> UploadedRows:
    """Detect the layout of the files and return its rows; table columns are guessed if not given."""
    unread: dict[str, str] = {}  # reasons by name of file
    found = _read_coco(files, unread) or _find_tables(files, columns, separator, unread)
    if isinstance(found, UploadedRows):
        return found
    _complete(found)
    _list_unused(found, files, unread)
    if len(names := list(found.items)) > MAX_PICTURES:  # evenly spread, so that every class has some
        chosen = {names[number * len(names) // MAX_PICTURES] for number in range(MAX_PICTURES)}
        for name in (name for name in names if name not in chosen):
            del found.items[name]
            found.skipped.append(
                Skipped(name, "beyond the limit", f"is not used: the limit is {MAX_PICTURES:,} pictures")
            )
    read = found.read or (lambda name: files.read(name, MAX_PICTURE_BYTES))
    cache.decode(found.items, read, max_pixels, on_progress)
    return _to_rows(found, cache, keep_unlabelled, several_texts)


def _reason(name: str, error: InputError) -> str:
    """Return the reason why a file is not used, to be written after its name."""
    reason = error.problems[0]
    return reason.removeprefix(f"{name} ") if reason.startswith(f"{name} ") else f"cannot be read: {reason}"


def _list_unused(found: Found, files: Listing, unread: Mapping[str, str]) -> None:
    """Add the files that were not used to the skipped items."""
    known = {*found.items, *found.used, *(one.item for one in found.skipped)}
    for name in (name for name in files.sizes if name not in known):
        suffix = posixpath.splitext(name)[1].lower()
        if name in unread:
            skipped = Skipped(name, "unused file", unread[name])
        elif suffix in PICTURE_SUFFIXES:
            skipped = Skipped(name, "picture without an entry", f"is not in {' or '.join(found.used[:2])}")
        else:
            hint = next((f"; {hint}" for suffixes, hint in HINTS.items() if suffix in suffixes), "")
            skipped = Skipped(name, f"{suffix or 'other'} file", f"is not read{hint}")
        found.skipped.append(skipped)


# tables ------------------------------------------------------------------------------------------------


def _find_tables(
    files: Listing, columns: Columns | None, separator: str, unread: dict[str, str]
) -> Found | UploadedRows:
    """Read the tables with captions or labels; if there are none, read the pictures and the .txt files beside them."""
    pictures = files.ending(*PICTURE_SUFFIXES)
    stems = {posixpath.splitext(name)[0]: name for name in pictures}
    texts = {name: stems[stem] for name in files.ending(".txt") if (stem := posixpath.splitext(name)[0]) in stems}
    guesses: list[tuple[Table, Columns]] = []
    embedded: dict[str, str] = {}  # heading of the pictures, by name of table
    for name in [*files.ending(*TABLE_SUFFIXES), *files.ending(*CAPTION_LISTS)]:
        try:
            if name not in texts:
                table = read_table(files.get(name), name)
                if heading := picture_column(table):
                    embedded[name] = heading
                guesses.append((table, guess_columns(table, files, heading)))
        except InputError as error:
            unread[name] = _reason(name, error)
    given = {columns.picture} - {""} if columns else set()  # a heading may be empty, but then it names no column
    usable = [(t, c) for t, c in guesses if t.name in embedded or (not embedded and (c.picture or given & {*t.header}))]
    usable = [(t, c) for t, c in usable if c.captions or c.labels or find_column(t.header, SPLIT)] or usable
    others = [(t, c) for t, c in guesses if t.name.lower().endswith(TABLE_SUFFIXES)]
    unread |= {t.name: "has no column of pictures, or no captions and labels" for t, _ in guesses}
    if not usable and not texts and not _has_class_folders(files):
        usable = others[:1]
    if usable:
        return _read_tables(usable, embedded, files, columns, separator)
    found = Found({name: Item(name) for name in pictures})
    for name, picture in texts.items():
        try:
            found.items[picture].add("text", read_text(files.get(name), name, MAX_TEXT_BYTES).splitlines())
            found.used.append(name)
        except InputError as error:
            unread[name] = _reason(name, error)
    if found.used:
        found.modalities = ["text"]
        found.notes.append("The texts are the .txt files beside the pictures.")
    return found


def guess_columns(table: Table, files: Listing | None = None, picture: str = "") -> Columns:
    """Guess the role of each column from its heading, or else from its contents.

    The picture column is also recognised by the names of picture files, captions by several words in a cell,
    and labels by words that recur. Folders that are classes are preferred to such labels.
    """
    picture = picture or find_column(table.header, PICTURE)
    headings = [h for h in table.header if h != picture]
    sample = list(islice((cells for _, cells, _ in table.rows(headings)), PROBE_ROWS))
    columns = {h: [cells[k] for cells in sample] for k, h in enumerate(headings)}
    if not picture and files is not None and sample:
        written = [str(c) if str(c).lower().endswith(PICTURE_SUFFIXES) else "" for c in sample[0]]
        found = find_pictures(written, table.name, list(files.sizes))
        picture = next((h for h, name in zip(headings, found, strict=False) if name), "")
        columns.pop(picture, None)
    captions = find_captions([h for h, cells in columns.items() if not cells or not all(map(is_number, cells))])
    labels = find_column(list(columns), LABELS)
    free = {h: cells for h, cells in columns.items() if h not in (*captions, labels) and h.casefold() not in NO_ROLE}
    words = {h: _words_per_cell(cells) for h, cells in free.items()}
    if not captions and (telling := max(words, key=words.__getitem__, default="")):
        captions = (telling,) if words[telling] >= MIN_CAPTION_WORDS else ()
    if not labels and (files is None or not _has_class_folders(files)):
        short = [h for h in free if 0 < words[h] < MIN_CAPTION_WORDS and h not in captions]
        labels = next((h for h in short if 2 <= len({*map(str, free[h])} - {""}) <= len(free[h]) / 2), "")
    return Columns(picture, captions, labels)


def _has_class_folders(files: Listing) -> bool:
    return len({label for label, _ in folder_classes(files.ending(*PICTURE_SUFFIXES)).values()}) > 1


def _words_per_cell(cells: Sequence[Any]) -> float:
    """Return the mean number of words in a cell; 0 if the cells are not words but numbers, files or addresses."""
    texts = [cell for cell in cells[:PROBE_TEXTS] if not isinstance(cell, str) or cell]
    if not texts or not all(isinstance(text, str) for text in texts) or all(map(is_number, texts)):
        return 0.0
    if any("://" in text or text.lower().endswith(PICTURE_SUFFIXES) for text in texts):
        return 0.0
    return float(np.mean([len(split_words(text)) for text in texts]))


def _read_tables(
    tables: Sequence[tuple[Table, Columns]],
    embedded: Mapping[str, str],
    files: Listing,
    columns: Columns | None,
    separator: str,
) -> Found | UploadedRows:
    """Read tables, for example one in each of the folders train and test; they may have different columns.

    If a table lacks a chosen column, the column is guessed for this table. The picture in a row of a .parquet file
    is named FILE#ROW.
    """
    named = [name_modalities(guess.captions) for _, guess in reversed(tables)]
    captions = {modality: heading for one in named for modality, heading in one.items()}
    labels = next((guess.labels for _, guess in tables if guess.labels), "")
    chosen = columns or Columns(tables[0][1].picture, tuple(captions.values()), labels)
    headings = tuple(dict.fromkeys(heading for table, _ in tables for heading in table.header))
    if problems := column_problems(tables[0][0].name, headings, chosen):
        return UploadedRows(problems=problems, headings=headings, columns=chosen)
    modalities, used = name_modalities(chosen.captions), [table.name for table, _ in tables]
    found = Found(modalities=list(modalities), used=used, headings=headings, columns=chosen)
    roles = {h: "captions" for h in chosen.captions if not find_captions([h])}
    roles |= {h: "labels" for h in filter(None, [chosen.labels]) if not find_column([h], LABELS)}
    for heading, role in roles.items() if columns is None else ():
        found.notes.append(f"The column {heading!r} is used as {role}, judged by its contents.")
    cells: list[Any] = []  # of labels, in all tables
    rows: list[tuple[Item, int]] = []  # items, and the places of their labels
    for table, own in tables:
        picture = chosen.picture if chosen.picture in table.header else own.picture
        label = chosen.labels if chosen.labels in table.header else own.labels if chosen.labels else ""
        texts = {m: h for m, h in modalities.items() if h in table.header}
        texts = texts or {m: h for m, h in name_modalities(own.captions).items() if m in modalities}
        split = find_column(table.header, SPLIT)
        written = [] if table.name in embedded else [picture]
        contents = table.read(list(filter(None, [*written, *texts.values(), label, split])))
        if written:
            names = [str(cell).partition("#")[0] for cell in contents.cells[picture]]
            pictures = find_pictures(names, table.name, list(files.sizes))
        else:
            pictures = names = [f"{table.name}#{number}" for number in contents.numbers]
        part = "" if written else part_of(posixpath.basename(table.name).split("-")[0].split(".")[0])
        for row, number in enumerate(contents.numbers):
            place = f"Row {number} of {table.name}"
            if row in contents.problems:
                found.skipped.append(Skipped(place, "damaged row", contents.problems[row]))
            elif not pictures[row]:
                reason = f"{names[row][:80]!r} was not found, or is in several folders"
                found.skipped.append(Skipped(place, "missing picture", reason))
            else:
                item = found.items.setdefault(pictures[row], Item(place))
                for modality, heading in texts.items():
                    item.add(modality, contents.cells[heading][row])
                if label:
                    rows.append((item, len(cells) + row))
                item.part = item.part or part or (part_of(str(contents.cells[split][row])) if split else "")
        cells += contents.cells.get(label, ())
        if not contents.numbers:
            found.notes.append(f"{table.name} has a header but no rows.")
    split_labels, found.separator = split_cells(cells, separator)
    for item, cell in rows:
        item.labels |= dict.fromkeys(split_labels[cell])
    if embedded:
        found.read = _embedded_reader([table for table, _ in tables], chosen.picture, embedded)
    return found


def column_problems(name: str, headings: Sequence[str], columns: Columns) -> list[str]:
    """Return messages about missing, unknown or too many columns; empty if there is no problem."""
    has = f"it has {', '.join(headings[:20])}"
    if not columns.picture:
        return [f"{name} has no column for pictures, such as {', '.join(PICTURE[:4])}; {has}."]
    if len(columns.captions) >= MAX_MODALITIES:
        return [f"{name} has {len(columns.captions):,} columns of captions; the limit is {MAX_MODALITIES} modalities."]
    unknown = [h for h in (columns.picture, *columns.captions, columns.labels) if h and h not in headings]
    return [f"{name} has no column {heading!r}; {has}." for heading in unknown]


def find_pictures(written: Sequence[str], table: str, names: Sequence[str]) -> list[str]:
    """For each cell of the picture column, return the file that it refers to; "" if there is none.

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


def _embedded_reader(tables: Sequence[Table], picture: str, embedded: Mapping[str, str]) -> Callable[[str], bytes]:
    """Return a function that reads pictures by name; they are requested in order, so each table is read once."""
    rows = {t.name: t.rows([picture if picture in t.header else embedded[t.name]]) for t in tables}

    def read(name: str) -> bytes:
        table, _, wanted_row = name.rpartition("#")
        for number, (cell,), _ in rows[table]:
            if number == int(wanted_row):
                return _picture_bytes(cell)
        return b""

    return read


def _picture_bytes(cell: Any) -> bytes:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    return content if isinstance(content, bytes) else b""


# COCO and folders --------------------------------------------------------------------------------------


def _read_coco(files: Listing, unread: dict[str, str]) -> Found | None:
    """Read COCO files (images, and annotations with captions or categories); None if there are none."""
    found = Found(modalities=["text"])
    missing: dict[str, None] = {}
    for name in files.ending(".json")[:MAX_JSON_FILES]:
        try:
            value = read_json_file(files.get(name), name)
        except InputError as error:
            unread[name] = _reason(name, error)
            continue
        images = {str(one.get("id")): one for one in _objects(value.get("images") if isinstance(value, dict) else None)}
        written = [str(image.get("file_name") or image.get("filename") or "") for image in images.values()]
        pictures = dict(zip(images, find_pictures(written, name, list(files.sizes)), strict=True))
        if not any(pictures.values()):
            unread[name] = "has no captions or objects for any of the pictures"
            continue
        found.used.append(name)
        for place, (number, picture) in zip(written, pictures.items(), strict=True):
            if picture:
                item = found.items.setdefault(picture, Item(f"{place} of {name}"))
                item.add("text", images[number].get("sentences") or [])  # as in Karpathy's splits
                item.part = item.part or part_of(str(images[number].get("split", "")))
            else:
                missing[place] = None
        categories = {str(one.get("id")): str(one.get("name", "")).strip() for one in _objects(value.get("categories"))}
        for one in _objects(value.get("annotations")):
            if picture := pictures.get(str(one.get("image_id")), ""):
                found.items[picture].add("text", one.get("caption") or "")
                if label := categories.get(str(one.get("category_id")), ""):
                    found.items[picture].labels[label] = None
    found.skipped += [Skipped(name, "missing picture", "was not found") for name in sorted(missing)]
    return found if found.items else None


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
    """Use the folder names as labels if no item has any, and for the part of the split where it is missing."""
    said = folder_classes(list(found.items)) if found.read is None else {}
    sizes = Counter(label for label, _ in said.values() if label)
    use_folders = len(sizes) > 1 and 2 * len(sizes) <= sum(sizes.values())
    if use_folders and not any(item.labels for item in found.items.values()):
        found.notes.append(f"The {len(sizes):,} folders are the classes.")
        for name, item in found.items.items():
            item.labels |= dict.fromkeys(filter(None, [said[name][0]]))
    for name, (_, part) in said.items():
        found.items[name].part = found.items[name].part or part


def _to_rows(found: Found, cache: PictureCache, keep_unlabelled: bool, several_texts: bool) -> UploadedRows:
    """Convert items to rows, one per item or (with `several_texts`) per caption; list unusable items as skipped."""
    has_labels = any(item.labels for item in found.items.values())
    has_texts = any(item.captions for item in found.items.values())
    usable: dict[bytes, str] = {}  # names by digest
    for name, item in found.items.items():
        digest = cache.digests.get(name, b"")
        if problems := cache.problems.get(name):
            kind = "too large" if "limit" in problems[0] else "unreadable"
            kind = "HEIC" if name.lower().endswith(HEIC_SUFFIXES) and kind == "unreadable" else kind
            found.skipped.append(Skipped(name, kind, problems[0].removeprefix(f"{name} ")))
        elif first := usable.get(digest):
            found.skipped.append(Skipped(name, "duplicate", f"is the same picture as {first}"))
        elif has_labels and not item.labels and not (keep_unlabelled and item.captions):
            found.skipped.append(Skipped(item.place, "no label", "has no label"))
        elif has_texts and not item.captions and not item.labels:
            found.skipped.append(Skipped(item.place, "no caption", "has no caption"))
        else:
            usable[digest] = name
    items = {name: found.items[name] for name in usable.values()}
    has_texts = any(item.captions for item in items.values())
    modalities = list(found.modalities) if has_texts else []
    labels, names, parts, groups = [], [], [], list[int]()
    captions: dict[str, list[str]] = {modality: [] for modality in modalities}
    for group, (name, item) in enumerate(items.items()):
        texts = {modality: item.captions.get(modality, [""]) for modality in modalities}
        count = max(map(len, texts.values()), default=1) if several_texts else 1
        for number in range(count):
            for modality, own in texts.items():
                captions[modality].append(own[number % len(own)] if several_texts else "\n".join(own))
        labels += [tuple(item.labels)] * count
        names += [name] * count
        parts += [item.part] * count
        groups += [group] * count
    return UploadedRows(
        labels if any(labels) else None,
        captions,
        [cache.decoded[name] for name in names],
        names=names,
        parts=parts if any(parts) else [],
        groups=groups if len(items) < len(groups) else [],
        skipped=found.skipped,
        notes=found.notes,
        headings=found.headings,
        columns=found.columns,
        separator=found.separator,
        has_several_captions=any(len(texts) > 1 for item in items.values() for texts in item.captions.values()),
    )
