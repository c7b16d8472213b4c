"""Export of codes for faiss, Parquet (for embedding-atlas) and PostgreSQL with pgvector.

No graph index (HNSW) is used. Codes learnt from labels repeat: hundreds of items have identical codes, and
edges between identical codes do not lead to other items. With SMFH+ at 64 bits and faiss's IndexBinaryHNSW
(32 edges, efSearch 512), the first result was truly a nearest item for only 89 % of the image queries on
Emoji and 62 % on Wiki. Inverted lists (IVF) store identical codes together.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.hamming import CodeIndex, unpack
from smfh.hashing import FittedHasher
from smfh.retrieval.code_space import MAX_CODES, map_codes
from smfh.retrieval.evaluation import database_codes
from smfh.types import InputError, IntArray, MultimodalDataset, Split, Words

NEIGHBOURS = 15
TABLE = "smfh_codes"
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": None})
QUOTES = str.maketrans({"\\": "\\\\", '"': '\\"', "\0": None})


@dataclass(frozen=True, eq=False)
class CodeTable:
    """The codes, captions and labels of a database, in database order."""

    bits: int
    codes: Words  # (items, words)
    rows: IntArray  # row numbers in the data set, (items,)
    captions: Sequence[str | None]
    labels: Sequence[Sequence[str]]

    @property
    def code_bytes(self) -> NDArray[np.uint8]:
        """Zero-padded bytes, (items, ⌈bits/8⌉): bit k is bit k mod 8, from the lowest, of byte ⌊k/8⌋."""
        return np.packbits(unpack(self.codes, self.bits), axis=1, bitorder="little")


def code_table(hasher: FittedHasher, data: MultimodalDataset, split: Split, target: str | None) -> CodeTable:
    """Return codes, captions and labels of the training items in modality `target` (None: the first)."""
    codes, rows = database_codes(hasher, data, split, target or hasher.modalities[0], "training")
    names = np.array(data.class_names, dtype=object)
    captions = [None if data.captions is None else data.captions[row] for row in rows]
    return CodeTable(hasher.bits, codes, rows, captions, [names[data.labels[row]].tolist() for row in rows])


def faiss_files(table: CodeTable) -> tuple[bytes, bytes]:
    """Return the files of a flat and an IVF index of faiss; ids are row numbers in the data set.

    The IVF index has √items lists and probes all of them; lower `nprobe` for faster, less exact search.
    """
    try:
        import faiss
    except ImportError as error:
        raise InputError("faiss is not installed; python -m pip install faiss-cpu") from error
    code_bytes, rows = table.code_bytes, table.rows.astype(np.int64)
    bits, lists = 8 * code_bytes.shape[1], isqrt(len(code_bytes))
    flat = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(bits))
    flat.add_with_ids(code_bytes, rows)
    coarse = faiss.IndexBinaryFlat(bits)
    by_lists = faiss.IndexBinaryIVF(coarse, bits, lists)
    by_lists.cp.min_points_per_centroid = 1
    by_lists.train(code_bytes)
    by_lists.add_with_ids(code_bytes, rows)
    by_lists.nprobe = lists
    flat_file, lists_file = (faiss.serialize_index_binary(index).tobytes() for index in (flat, by_lists))
    return flat_file, lists_file


def parquet_file(table: CodeTable) -> bytes:
    """Return a Parquet file with id, code, caption, labels, map position and neighbours of each item.

    `neighbors` holds row numbers of this file, as embedding-atlas expects, without the item itself.
    """
    import pyarrow as pa
    from pyarrow import parquet

    code_bytes = table.code_bytes
    kind = "t-SNE" if len(np.unique(table.codes, axis=0)) <= MAX_CODES else "PCA"
    positions = map_codes(table.codes, table.rows, table.bits, kind, limit=len(table.codes)).positions
    columns: dict[str, Any] = {
        "id": table.rows.astype(np.int64),
        "code": pa.array([code.tobytes() for code in code_bytes], pa.binary(code_bytes.shape[1])),
        "caption": pa.array(table.captions, pa.string()),
        "labels": pa.array(table.labels, pa.list_(pa.string())),
        "x": positions[:, 0].astype(np.float32),
        "y": positions[:, 1].astype(np.float32),
        "neighbors": [{"ids": ids, "distances": distances} for ids, distances in neighbours(table.codes, NEIGHBOURS)],
    }
    about = {"bits": str(table.bits), "bit order": "bit k is bit k mod 8, from the lowest, of byte k // 8"}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns).replace_schema_metadata(about), file)
    return file.getvalue()


def neighbours(codes: Words, number: int) -> Iterator[tuple[list[int], list[float]]]:
    """Yield, for each item, the `number` nearest other items, nearest first, and their distances."""
    order, distances = CodeIndex(codes).rank(codes, number + 1)
    for item, (near, far) in enumerate(zip(order, distances, strict=True)):
        others = near != item
        others[number:] &= not others[:number].all()  # drop the last if the item itself is missing
        yield near[others].tolist(), far[others].astype(float).tolist()


def pgvector_file(table: CodeTable, name: str = TABLE) -> bytes:
    """Return an SQL file for psql: a table with a bit(n) column and an ivfflat Hamming index."""
    if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(
            "A table name may contain only lower-case letters, digits and _, and must not start with a digit; "
            f"got {name!r}."
        )
    items = len(table.rows)
    lists = max(1, items // 1000 if items <= 1_000_000 else isqrt(items))  # as pgvector recommends
    bits = ("".join("01"[on] for on in code) for code in unpack(table.codes, table.bits).astype(int).tolist())
    captions = ("\\N" if text is None else text.translate(ESCAPES) for text in table.captions)
    arrays = ("{" + ",".join(f'"{name.translate(QUOTES)}"' for name in names) + "}" for names in table.labels)
    labels = (array.translate(ESCAPES) for array in arrays)
    rows = zip(map(str, table.rows), map(str, range(items)), bits, captions, labels, strict=True)
    quoted = f'"{name}"'  # because the name may be an SQL keyword, such as user or order
    begin = BEGIN.format(name=quoted, bits=table.bits, zeros="0" * table.bits, lists=lists)
    lines = "".join("\t".join(row) + "\n" for row in rows)
    return (begin + lines + END.format(name=quoted, lists=lists)).encode()


BEGIN = """-- Load with: psql -v ON_ERROR_STOP=1 -f FILE. It needs pgvector 0.7 or newer. Bit k of a code is
-- character k of its bit string; place is the database order, which breaks ties. Exact search:
--   SELECT id, code <~> B'{zeros}' AS distance FROM {name} ORDER BY distance, place LIMIT 10;
-- Search by the index; this many probes cover all lists:
--   SET ivfflat.probes = {lists};
--   SELECT id FROM {name} ORDER BY code <~> B'{zeros}' LIMIT 10;
-- There is no HNSW index: codes learnt from labels repeat, and a graph of identical codes misses results.
SET client_encoding = 'UTF8';
BEGIN;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE {name} (
    id bigint PRIMARY KEY,
    place integer NOT NULL,
    code bit({bits}) NOT NULL,
    caption text,
    labels text[] NOT NULL
);
COPY {name} (id, place, code, caption, labels) FROM stdin;
"""
END = """\\.
CREATE INDEX ON {name} USING ivfflat (code bit_hamming_ops) WITH (lists = {lists});
COMMIT;
ANALYZE {name};
"""
