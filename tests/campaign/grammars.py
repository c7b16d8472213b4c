"""Files made by the rules of their format, with random contents, so that readers get past the header."""

import csv
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from changes import VALUES, Rng
from pyarrow import parquet

ROWS = 8
NAMES = ("image", "text", "labels", "captions", "class_names", "I_tr", "I_te", "T_tr", "T_te", "L_tr", "L_te", "IAll")
NAMES += ("LAll", "TAll", "y", "V", "x" * 60, "é", "__x")
HEADINGS = (
    "image_0",
    "image_1",
    "text:a",
    "text:b",
    "labels:cat",
    "label",
    "labels",
    "caption",
    "caption (ja)",
    "split",
)
HEADINGS += ("file", "file_name", "image", "text", "vector", "id", "", "Unnamed: 0", "x.1", "a:b:c")
CELLS = ("1", "2.5", "-3e4", "1e999", "nan", "", "cat", "a|b;c,d", "train", "test", "[0.1 0.7]", "[1, 2, 3]", "[[1]]")
CELLS += ("0.png", "1.jpg", "../x.png", '"', "\0", "猫", "9" * 400, "[np.float64(0.5)]", "{}", "true")
SOLID = 0.9  # share of choices that keep a file sound


def pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[rng.integers(len(values))]


def mostly(rng: np.random.Generator, value: Any, *others: Any) -> Any:
    """The value, or sometimes another one."""
    return value if rng.random() < SOLID else pick(rng, others)


# .mat --------------------------------------------------------------------------------------------------


def element(kind: int, content: bytes, length: int | None = None, is_small: bool = False) -> bytes:
    """An element, padded to 8 bytes; one of up to 4 bytes may be stored in its tag."""
    length = len(content) if length is None else length
    if is_small and len(content) <= 4:
        return struct.pack("<HH", kind, length) + content.ljust(4, b"\0")
    return struct.pack("<Ii", kind, length) + content + b"\0" * (-len(content) % 8)


def mat_matrix(rng: np.random.Generator, name: str, depth: int = 0) -> bytes:
    """A matrix of numbers, text, a sparse matrix, cells or a structure, most often sound."""
    array_class = pick(rng, (6, 6, 7, 9, 10, 13, 5, 4, 1, 1, 2, 3) if depth < 4 else (6, 9))
    shape = [int(mostly(rng, ROWS, 1, 0, 7, 500_001, -1, 2**31 - 1)), int(mostly(rng, pick(rng, (1, 2, 3)), 0, 40, -2))]
    shape += [int(pick(rng, (1, 2)))] * (rng.random() < 0.03)
    count = int(np.clip(np.prod(shape, dtype=np.float64), 0, 200))
    flags = int(mostly(rng, 0, 2, 8, 8, 4)) << 8 | int(array_class)
    head = element(6, struct.pack("<II", flags, int(mostly(rng, 8, 0, 2**31))))
    head += element(5, np.array(shape, "<i4").tobytes())
    head += element(1, name.encode("utf-8"), is_small=rng.random() < 0.5)
    if array_class == 1:
        count = int(mostly(rng, count, 0, count + 1))
        body = b"".join(mat_matrix(rng, "", depth + 1) for _ in range(min(count, 24)))
    elif array_class == 5:
        filled = int(rng.integers(0, 12))
        rows = rng.integers(0, max(shape[0], 1) if rng.random() < SOLID else 10**6, filled)
        ends = np.sort(rng.integers(0, filled + 1, max(min(shape[1], 50) + 1, 0)))
        ends[:1], ends[-1:] = mostly(rng, 0, 1), mostly(rng, filled, filled + 3, -1)
        body = element(5, rows.astype("<i4").tobytes()) + element(5, ends.astype("<i4").tobytes())
        body += element(9, rng.random(filled).tobytes())
    elif array_class == 4:
        kind, width = pick(rng, ((16, 1), (4, 2), (17, 2), (2, 1)))
        body = element(kind, rng.integers(32, 126, count).astype(f"<u{width}").tobytes())
    elif array_class in (2, 3):
        body = element(5, struct.pack("<i", 8)) + element(1, b"field\0\0\0") + mat_matrix(rng, "", depth + 1)
    else:
        kind = pick(rng, ((9, "f8"), (7, "f4"), (2, "u1"), (1, "i1"), (3, "i2"), (5, "i4"), (12, "i8")))
        values = rng.integers(0, 2, count) if rng.random() < 0.5 else rng.integers(-100, 100, count)
        body = element(int(mostly(rng, kind[0], 14, 99)), values.astype(f"<{kind[1]}").tobytes())
        body += element(9, bytes(8 * count)) if flags >> 8 & 8 else b""
    return element(int(mostly(rng, 14, 15, 1)) if depth else 14, head + body, mostly(rng, None, None, 0, 2**31 - 1))


def make_mat(rng: Rng) -> bytes:
    """A .mat file of version 5, with compressed and plain variables."""
    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    rng, is_plain = (np.random.default_rng(0), True) if rng is None else (rng, False)
    for name in ("image", "text") if is_plain else [pick(rng, NAMES) for _ in range(rng.integers(1, 6))]:
        head = (
            element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", ROWS, 2)) + element(1, name.encode())
        )
        variable = element(14, head + element(9, rng.random(2 * ROWS).tobytes()))
        variable = variable if is_plain or rng.random() < 0.3 else mat_matrix(rng, name)
        if not is_plain and rng.random() < 0.5:
            packed = zlib.compress(variable)
            variable = struct.pack("<II", 15, mostly(rng, len(packed), len(packed) - 1)) + packed
        content += variable
    return content


# tables ------------------------------------------------------------------------------------------------


def make_csv(rng: Rng) -> bytes:
    """A table of text with any delimiter, quoting, line ends and encoding."""
    if rng is None:
        return b"image_0,image_1,text_0,label\n" + b"1,2,3,a\n4,5,6,b\n" * 4
    header = list(rng.choice(HEADINGS, rng.integers(1, 12), replace=rng.random() < 0.1))
    usual = [pick(rng, CELLS) for _ in header]
    file = io.StringIO()
    end, quoting = pick(rng, ("\n", "\r\n", "\r")), pick(rng, (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    table = csv.writer(file, delimiter=pick(rng, ",;\t|"), lineterminator=end, quoting=quoting)
    table.writerow(header)
    for _ in range(rng.integers(0, 20)):
        table.writerow([mostly(rng, cell, *CELLS) for cell in usual][: mostly(rng, len(usual), len(usual) - 1)])
    return file.getvalue().encode(mostly(rng, "utf-8", "utf-8-sig", "utf-16", "utf-16-le"), "replace")


def make_value(rng: np.random.Generator, depth: int = 0) -> Any:
    kind = rng.integers(6)
    if kind == 0 and depth < 3:
        return [make_value(rng, depth + 1) for _ in range(rng.integers(0, 4))]
    if kind == 1 and depth < 3:
        return {pick(rng, HEADINGS): make_value(rng, depth + 1) for _ in range(rng.integers(0, 3))}
    return pick(rng, (*CELLS, 1, 2.5, True, None, [0.5, 1.5], ["a", "b"])) if kind < 5 else pick(rng, VALUES)


def make_json_lines(rng: Rng) -> bytes:
    """Objects of which most have the same keys."""
    if rng is None:
        return b'{"image": [1, 2], "text": [3, 4.5], "label": "a"}\n' * ROWS
    keys = rng.choice(HEADINGS, rng.integers(1, 6)).tolist()
    usual = {key: make_value(rng) for key in keys}
    lines = [
        {key: mostly(rng, value, make_value(rng)) for key, value in usual.items()} for _ in range(rng.integers(12))
    ]
    return "\n".join(json.dumps(mostly(rng, line, [], 1, {})) for line in lines).encode("utf-8", "replace")


def make_column(rng: np.random.Generator, rows: int) -> pa.Array:
    """A column of any type: numbers, strings, lists, pictures, dictionaries, times; some with missing values."""
    width = int(rng.integers(0, 5))
    kind = rng.integers(12)
    numbers = rng.integers(-3, 9, rows)
    columns: Sequence[Callable[[], Any]] = (
        lambda: pa.array([rng.random(width).tolist() for _ in range(rows)], pa.list_(pa.float32())),
        lambda: pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * max(width, 1))), max(width, 1)),
        lambda: pa.array([pick(rng, CELLS).replace("\0", "") for _ in range(rows)]),
        lambda: pa.array([pick(rng, ("cat", "dog")) for _ in range(rows)]).dictionary_encode(),
        lambda: pa.array(numbers.astype(pick(rng, ("i1", "u2", "i8", "f4", "f8", "f2")))),
        lambda: pa.array(numbers > 0),
        lambda: pa.array([[pick(rng, ("a", "b", None))] * int(n % 3) for n in numbers], pa.list_(pa.string())),
        lambda: pa.array([{"bytes": b"\x89PNG", "path": "0.png"} for _ in range(rows)]),
        lambda: pa.array(numbers.astype("i8"), pa.timestamp("s")),
        lambda: pa.array([[[1.0, float(n)]] for n in numbers], pa.list_(pa.list_(pa.float64()))),
        lambda: pa.array([None if n % 2 else float(n) for n in numbers], pa.float64()),
        lambda: pa.nulls(rows),
    )
    return columns[kind]()


def make_parquet(rng: Rng) -> bytes:
    if rng is None:
        columns = {"image": [[1.0, 2.0]] * ROWS, "text": [[3.0]] * ROWS, "label": ["a", "b"] * 4}
        parquet.write_table(pa.table(columns), file := io.BytesIO())
        return file.getvalue()
    rows = int(rng.integers(0, 20))
    names = rng.choice(HEADINGS, rng.integers(1, 6), replace=False).tolist()
    table = pa.table({name: make_column(rng, rows) for name in names})
    features = {name: {"names": ["cat", "dog"], "_type": "ClassLabel"} for name in names[:2]}
    table = table.replace_schema_metadata(
        {"huggingface": json.dumps(mostly(rng, {"info": {"features": features}}, [], 1))}
    )
    options = {"compression": pick(rng, ("snappy", "zstd", "none")), "row_group_size": int(rng.integers(1, 30))}
    with suppress(pa.ArrowException):
        parquet.write_table(table, file := io.BytesIO(), use_dictionary=bool(rng.random() < 0.5), **options)
        return file.getvalue()
    return make_parquet(rng)


# archives ----------------------------------------------------------------------------------------------


def zipped(members: Mapping[str, bytes]) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def make_zip(pictures: Sequence[bytes]) -> Callable[[Rng], bytes]:
    """Archives of pictures, tables, lists and matrices in folders named after classes, parts or nothing known."""
    folders = ("", "train/", "test/", "cat/", "train/cat/", "val/dog/", "images/", "a/b/c/d/", "__MACOSX/", "../", "é/")
    stems = ("0", "1", "2", "items", "captions", "metadata", "labels", "annotations/captions_train", "x")
    others: Sequence[tuple[str, Callable[[Rng], bytes]]] = (
        *((".csv", make_csv), (".tsv", make_csv), (".jsonl", make_json_lines), (".parquet", make_parquet)),
        *((".mat", make_mat), (".json", make_coco), (".txt", lambda rng: b"0.png a cat\n1.png a dog\n")),
    )

    def make(rng: Rng) -> bytes:
        members = {f"{('cat', 'dog')[k % 2]}/{k}.png": pictures[k % len(pictures)] for k in range(ROWS)}
        if rng is None:
            return zipped(members)
        members = members if rng.random() < 0.5 else {}
        for _ in range(rng.integers(1, 10)):
            name = pick(rng, folders) + pick(rng, stems)
            if rng.random() < 0.6:
                members[name + pick(rng, (".png", ".jpg", ".PNG", ".gif", ""))] = pick(rng, pictures)
            else:
                suffix, make_other = pick(rng, others)
                members[name + suffix] = make_other(rng)
        return zipped(members)

    return make


def make_coco(rng: Rng) -> bytes:
    """The annotations of COCO: pictures, captions, categories and boxes, most of them sound."""
    sound = np.random.default_rng(0) if rng is None else rng

    def some(value: Any) -> Any:
        return value if rng is None else mostly(rng, value, *VALUES, make_value(rng))

    images = [{"id": some(k), "file_name": some(f"{k}.png"), "height": 30, "width": some(40)} for k in range(ROWS)]
    categories = [{"id": some(k), "name": some(name), "supercategory": "x"} for k, name in enumerate(("cat", "dog"))]
    notes = [
        {"id": k, "image_id": some(k % ROWS), "caption": some("a cat"), "category_id": some(int(sound.integers(2)))}
        for k in range(2 * ROWS)
    ]
    whole = {"info": some({}), "images": some(images), "annotations": some(notes), "categories": some(categories)}
    return json.dumps(whole).encode()


def make_coco_archive(pictures: Sequence[bytes]) -> Callable[[Rng], bytes]:
    members = {f"train2017/{k}.png": pictures[k % len(pictures)] for k in range(ROWS)}
    return lambda rng: zipped(members | {"annotations/captions_train2017.json": make_coco(rng)})
