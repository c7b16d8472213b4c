"""Codes for engines that people run: faiss, Parquet (which embedding-atlas opens), PostgreSQL with pgvector.

None of them is given a graph index (HNSW). Codes learnt from labels repeat: hundreds of items lie at distance
0 from each other, and edges that all stay among equal codes do not lead to the others. Measured with SMFH+ at
64 bits and faiss's IndexBinaryHNSW (32 edges, efSearch 512): the first answer to an image query is as near
as the nearest for 89 % of the queries on Emoji and for 62 % on Wiki. Lists (IVF) keep equal codes together.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.evaluation import database_codes
from smfh.hamming import CodeIndex, unpack
from smfh.hashing import FittedHasher
from smfh.landscape import MOST_CODES, map_codes
from smfh.types import InputError, IntArray, MultimodalDataset, Split, Words

NEIGHBOURS = 15
TABLE = "smfh_codes"
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": None})
QUOTES = str.maketrans({"\\": "\\\\", '"': '\\"', "\0": None})


@dataclass(frozen=True, eq=False)
class CodeTable:
    """A database to take along: what is searched for `target`, in database order."""

    bits: int
    codes: Words  # (items, words)
    rows: IntArray  # of the data set, (items,)
    captions: Sequence[str | None]
    labels: Sequence[Sequence[str]]

    @property
    def octets(self) -> NDArray[np.uint8]:
        """(items, ⌈bits/8⌉): bit k is bit k mod 8, from the lowest, of octet ⌊k/8⌋; zeros behind the last."""
        return np.packbits(unpack(self.codes, self.bits), axis=1, bitorder="little")


def code_table(hasher: FittedHasher, data: MultimodalDataset, split: Split, target: str | None) -> CodeTable:
    """The codes of the training items in the modality that is searched; None: the first."""
    codes, rows = database_codes(hasher, data, split, target or hasher.modalities[0], "training")
    names = np.array(data.class_names, dtype=object)
    captions = [None if data.captions is None else data.captions[row] for row in rows]
    return CodeTable(hasher.bits, codes, rows, captions, [names[data.labels[row]].tolist() for row in rows])


def faiss_files(table: CodeTable) -> tuple[bytes, bytes]:
    """The files of a flat index and of one of lists; both find rows of the data set.

    √items lists, all of which are looked at (`nprobe`) until somebody wants it faster and less exact.
    """
    try:
        import faiss
    except ImportError as error:
        raise InputError("faiss is not installed; python -m pip install faiss-cpu") from error
    octets, rows = table.octets, table.rows.astype(np.int64)
    bits, lists = 8 * octets.shape[1], isqrt(len(octets))
    flat = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(bits))
    flat.add_with_ids(octets, rows)
    coarse = faiss.IndexBinaryFlat(bits)
    by_lists = faiss.IndexBinaryIVF(coarse, bits, lists)
    by_lists.cp.min_points_per_centroid = 1
    by_lists.train(octets)
    by_lists.add_with_ids(octets, rows)
    by_lists.nprobe = lists
    flat_file, lists_file = (faiss.serialize_index_binary(index).tobytes() for index in (flat, by_lists))
    return flat_file, lists_file


def parquet_file(table: CodeTable) -> bytes:
    """A row an item: id, code, caption, labels, its place on a map of the codes, and its nearest neighbours.

    `neighbors` has the rows of this file, as embedding-atlas wants them; an item is not its own neighbour.
    """
    import pyarrow as pa
    from pyarrow import parquet

    octets = table.octets
    kind = "t-SNE" if len(np.unique(table.codes, axis=0)) <= MOST_CODES else "PCA"
    positions = map_codes(table.codes, table.rows, table.bits, kind, most=len(table.codes)).positions
    columns: dict[str, Any] = {
        "id": table.rows.astype(np.int64),
        "code": pa.array([code.tobytes() for code in octets], pa.binary(octets.shape[1])),
        "caption": pa.array(table.captions, pa.string()),
        "labels": pa.array(table.labels, pa.list_(pa.string())),
        "x": positions[:, 0].astype(np.float32),
        "y": positions[:, 1].astype(np.float32),
        "neighbors": [
            {"ids": ids, "distances": distances} for ids, distances in neighbours(table.codes, NEIGHBOURS)
        ],
    }
    about = {"bits": str(table.bits), "bit order": "bit k is bit k mod 8, from the lowest, of octet k // 8"}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns).replace_schema_metadata(about), file)
    return file.getvalue()


def neighbours(codes: Words, number: int) -> Iterator[tuple[list[int], list[float]]]:
    """The nearest other items of each, nearest first, and how many bits away they are."""
    order, distances = CodeIndex(codes).rank(codes, number + 1)
    for item, (near, far) in enumerate(zip(order, distances, strict=True)):
        others = near != item
        others[number:] &= not others[:number].all()  # an item with many equals may not be among its nearest
        yield near[others].tolist(), far[others].astype(float).tolist()


def pgvector_file(table: CodeTable, name: str = TABLE) -> bytes:
    """A file for psql: a table with a column bit(n), its rows, and an ivfflat index by Hamming distance."""
    if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(
            f"A table's name has small letters, digits and _, and begins with no digit; got {name!r}."
        )
    items = len(table.rows)
    lists = max(1, items // 1000 if items <= 1_000_000 else isqrt(items))  # as pgvector advises
    bits = ("".join("01"[on] for on in code) for code in unpack(table.codes, table.bits).astype(int).tolist())
    said = ("\\N" if text is None else text.translate(ESCAPES) for text in table.captions)
    arrays = ("{" + ",".join(f'"{name.translate(QUOTES)}"' for name in names) + "}" for names in table.labels)
    labels = (array.translate(ESCAPES) for array in arrays)
    rows = zip(map(str, table.rows), map(str, range(items)), bits, said, labels, strict=True)
    quoted = f'"{name}"'  # which may be a word of SQL, such as user or order
    begin = BEGIN.format(name=quoted, bits=table.bits, zeros="0" * table.bits, lists=lists)
    lines = "".join("\t".join(row) + "\n" for row in rows)
    return (begin + lines + END.format(name=quoted, lists=lists)).encode()


BEGIN = """-- Load with: psql -v ON_ERROR_STOP=1 -f FILE. It needs pgvector 0.7 or newer. Bit k of a code is
-- character k of its bit string; place is the database order, which breaks ties. The ten nearest, exactly:
--   SELECT id, code <~> B'{zeros}' AS distance FROM {name} ORDER BY distance, place LIMIT 10;
-- and by the index, whose lists are all looked at if so many probes are asked for:
--   SET ivfflat.probes = {lists};
--   SELECT id FROM {name} ORDER BY code <~> B'{zeros}' LIMIT 10;
-- There is no HNSW index: codes learnt from labels repeat, and a graph among equal codes loses answers.
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
