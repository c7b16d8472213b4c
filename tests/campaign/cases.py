"""Small files that took much time or memory when they were found, and what reading each takes now.

python tests/campaign/cases.py          prints a table of all cases
python tests/campaign/cases.py npz      only of cases whose name contains this word
"""

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa
from PIL import Image
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).parents[2]))
from smfh.datasets.user_data import UserDataset, example_archive

MAX_SECONDS, MAX_MEGABYTES = 5.0, 500.0  # of processor time and additional memory, for reading one small file
BLOCK = 1 << 20


class Cost(NamedTuple):
    """What reading a file takes, and the first reason if it is refused."""

    seconds: float  # of processor time
    megabytes: float  # growth of the process at its largest
    problem: str


def measure(read: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the processor seconds and the growth in MB at the largest moment, and the result."""
    process = psutil.Process()
    Path("/proc/self/clear_refs").write_text("5")  # sets the highest memory (VmHWM) to the current one
    before, began = process.memory_info().rss, sum(os.times()[:4])
    result = read()
    seconds = sum(os.times()[:4]) - began
    lines = Path("/proc/self/status").read_text().splitlines()
    highest = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    return seconds, max(highest - before, 0) / BLOCK, result


def npz(**arrays: np.ndarray) -> bytes:
    np.savez_compressed(file := io.BytesIO(), **arrays)
    return file.getvalue()


def features(rows: int) -> dict[str, np.ndarray]:
    return {"image": np.ones((rows, 2), np.uint8), "text": np.ones((rows, 2), np.uint8)}


def pq(columns: dict[str, Any]) -> bytes:
    parquet.write_table(pa.table(columns), file := io.BytesIO(), compression="zstd")
    return file.getvalue()


def lists(value: float, rows: int, width: int) -> pa.Array:
    flat = pa.array(np.full(rows * width, value, dtype=np.float32))
    return pa.FixedSizeListArray.from_arrays(flat, width).cast(pa.list_(pa.float32()))


def repeated(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text])


def zipped(members: Iterable[tuple[str, bytes]]) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def element(kind: int, content: bytes) -> bytes:
    """An element of a .mat file, padded to 8 bytes."""
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def mat(**variables: bytes) -> bytes:
    """A .mat file of version 5 from compressed variables."""
    parts = [struct.pack("<II", 15, len(content)) + content for content in variables.values()]
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(parts)


def mat_head(name: str, array_class: int, shape: tuple[int, ...]) -> bytes:
    flags = element(6, struct.pack("<II", array_class, 0))
    return flags + element(5, np.array(shape, "<i4").tobytes()) + element(1, name.encode())


def zeros_variable(name: str, shape: tuple[int, int]) -> bytes:
    """A compressed matrix of zeros (uint8), made without holding it: each block compresses to the same bytes."""
    count = shape[0] * shape[1]
    head = mat_head(name, 9, shape) + struct.pack("<II", 2, count)
    head = struct.pack("<II", 14, len(head) + count) + head
    packer = zlib.compressobj(9)
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.adler32(head)
    for _ in range(count // BLOCK):
        checksum = zlib.adler32(bytes(BLOCK), checksum)
    checksum = zlib.adler32(bytes(count % BLOCK), checksum)
    rest = zlib.compressobj(9, wbits=-15)
    end = rest.compress(bytes(count % BLOCK)) + rest.flush()
    return packed + block * (count // BLOCK) + end + struct.pack(">I", checksum)


def matrix_variable(name: str, X: np.ndarray) -> bytes:
    body = mat_head(name, 9, X.shape) + element(2, X.astype(np.uint8).tobytes(order="F"))
    return zlib.compress(element(14, body))


def sparse_variable(name: str, rows: int, columns: int) -> bytes:
    flags = element(6, struct.pack("<II", 5, 1))
    head = flags + element(5, struct.pack("<ii", rows, columns)) + element(1, name.encode())
    ends = element(5, bytes(4 * (columns + 1)))
    return zlib.compress(element(14, head + element(5, bytes(4)) + ends + element(9, bytes(8))))


def small_mat(labels: bytes, rows: int = 8) -> bytes:
    ones = np.ones((rows, 2))
    return mat(image=matrix_variable("image", ones), text=matrix_variable("text", ones), labels=labels)


def columns_table(columns: Iterable[str], cells: Callable[[int], str], rows: int = 8) -> bytes:
    header = list(columns)
    line = ",".join(cells(number) for number in range(len(header)))
    return "\n".join([",".join(header), *[line] * rows]).encode()


def progressive(scans: int, side: int) -> bytes:
    """A JPEG with this many scans of a grey square."""
    image = Image.new("RGB", (side, side), "grey")
    image.save(file := io.BytesIO(), "JPEG", progressive=True, quality=30)
    whole = file.getvalue()
    starts = [at for at in range(len(whole)) if whole[at : at + 2] == b"\xff\xda"]
    last = whole[starts[-1] : -2]
    return whole[:-2] + last * (scans - len(starts)) + whole[-2:]


def with_pictures(pictures: Iterable[bytes], suffix: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(example_archive())) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    added = [(f"pictures/{number}{suffix}", content) for number, content in enumerate(pictures)]
    table = next(content for name, content in members if name == "items.csv")
    lines = "".join(f"{name},a caption {number},square\n" for number, (name, _) in enumerate(added))
    return zipped([*[m for m in members if m[0] != "items.csv"], *added, ("items.csv", table + lines.encode())])


WIDE = 19_999
RANDOM = np.random.default_rng(0)
CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "mat, 9·10⁸ labels": ("a.mat", lambda: small_mat(zeros_variable("labels", (900_000_000, 1)))),
    "mat, labels of 400,000 × 1,000": ("a.mat", lambda: small_mat(zeros_variable("labels", (400_000, 1000)))),
    "mat, sparse labels of 60 million × 2": ("a.mat", lambda: small_mat(sparse_variable("labels", 60_000_000, 2))),
    "mat, sparse labels of 500,000 × 100,000": (
        "a.mat",
        lambda: small_mat(sparse_variable("labels", 500_000, 100_000)),
    ),
    "npz, 10⁸ labels": ("a.npz", lambda: npz(**features(8), labels=np.zeros(10**8, np.uint8))),
    "npz, 10⁸ captions": ("a.npz", lambda: npz(**features(8), captions=np.zeros(10**8, np.uint8))),
    "npz, labels of 5·10⁷ × 2": ("a.npz", lambda: npz(**features(8), labels=np.zeros((50_000_000, 2), np.uint8))),
    "npz, ones as labels of 33,554 × 2,000": (
        "a.npz",
        lambda: npz(**features(33_554), labels=np.ones((33_554, 2000), np.uint8)),
    ),
    "npz, ones as labels of 2,500 × 2,000": (
        "a.npz",
        lambda: npz(**features(2500), labels=np.ones((2500, 2000), np.uint8)),
    ),
    "npz, image of 1,000 × 500,000": (
        "a.npz",
        lambda: npz(image=np.zeros((1000, 500_000), np.uint8), text=np.ones((1000, 2)), labels=np.arange(1000) % 3),
    ),
    "npz, image of 1,000 × 250,000": (
        "a.npz",
        lambda: npz(image=np.zeros((1000, 250_000), np.uint8), text=np.ones((1000, 2)), labels=np.arange(1000) % 3),
    ),
    "npz, image of 1,000 × 120,000 float64": (
        "a.npz",
        lambda: npz(image=np.zeros((1000, 120_000)), text=np.ones((1000, 2)), labels=np.arange(1000) % 3),
    ),
    "npz, image of 1,000 × 24,000 float64": (
        "a.npz",
        lambda: npz(image=np.zeros((1000, 24_000)), text=np.ones((1000, 2)), labels=np.arange(1000) % 3),
    ),
    "npz, captions of 80 characters for 500,000 items": (
        "a.npz",
        lambda: npz(**features(500_000), captions=np.full(500_000, "x" * 80), labels=np.ones(500_000)),
    ),
    "npz, short captions in room for long ones": (
        "a.npz",
        lambda: npz(**features(20_000), captions=np.full(20_000, "x", "<U2000"), labels=np.ones(20_000)),
    ),
    "parquet, lists of constants": (
        "long.parquet",
        lambda: pq({"image": lists(1, 50_000, 1300), "text": lists(2, 50_000, 1300), "label": ["a"] * 50_000}),
    ),
    "parquet, fewer lists of constants": (
        "long.parquet",
        lambda: pq({"image": lists(1, 3000, 1300), "text": lists(2, 3000, 1300), "label": ["a"] * 3000}),
    ),
    "parquet, long captions": (
        "caps.parquet",
        lambda: pq(
            {"caption": repeated("x" * 30_000, 200_000), "label": ["a"] * 200_000, "image": lists(1, 200_000, 2)}
        ),
    ),
    "parquet, captions of 500 characters": (
        "caps.parquet",
        lambda: pq({"caption": repeated("x" * 500, 500_000), "label": ["a"] * 500_000, "image": lists(1, 500_000, 2)}),
    ),
    "parquet, 4,990 columns of 2,400 rows": (
        "wide.parquet",
        lambda: pq({f"image_{k}": np.ones(2400, np.float32) for k in range(4990)} | {"text_0": np.ones(2400)}),
    ),
    "parquet, 19,999 columns": ("wide.parquet", lambda: pq({f"image_{k}": np.zeros(8) for k in range(WIDE)})),
    "csv, 19,999 modalities": ("a.csv", lambda: columns_table((f"m{k}:1" for k in range(WIDE)), lambda k: "1.5", 5)),
    "csv, 19,999 columns of one modality": (
        "a.csv",
        lambda: columns_table((f"image_{k}" for k in range(WIDE)), lambda k: "1.5", 8),
    ),
    "zip, 19,000 columns of captions": (
        "a.zip",
        lambda: zipped([("items.csv", columns_table(["file", *(f"caption {k}" for k in range(19_000))], str, 4))]),
    ),
    "JPEG with 3,000 scans": ("a.zip", lambda: with_pictures([progressive(3000, 400)], ".jpg")),
    "JPEG of 25 megapixels with 20 scans": ("a.zip", lambda: with_pictures([progressive(20, 5000)], ".jpg")),
    "JSON lines, deeply nested": ("a.jsonl", lambda: b'{"caption": ' + b"[" * 100_000 + b"\n"),
}


def inspect(name: str) -> Cost:
    """Read a case as the server does; the process must be new, because it also makes the file."""
    file_name, make = CASES[name]
    with tempfile.TemporaryFile() as file:
        if (pid := os.fork()) == 0:  # making the file may need much memory
            file.write(make())
            file.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        file.seek(0)
        content = file.read()
    UserDataset(npz(**features(8), labels=np.arange(8)), "warm-up.npz").inspect()
    seconds, megabytes, (preview, _) = measure(UserDataset(content, file_name).inspect)
    return Cost(seconds, megabytes, "; ".join(preview.problems)[:200])


def inspect_apart(name: str) -> Cost:
    """Read a case in a new process."""
    done = subprocess.run([sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, check=True, timeout=120)
    return Cost(*json.loads(done.stdout))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(inspect(sys.argv[2])))
    else:
        for name in (name for name in CASES if "".join(sys.argv[1:]) in name):
            cost = inspect_apart(name)
            print(f"{cost.seconds:6.2f} s {cost.megabytes:7.0f} MB  {name}: {cost.problem or 'is read'}", flush=True)
