"""Search page in one HTML file with codes, pictures, words and the hash function; works offline.

The script hashing.js searches; its results equal those of `smfh.retrieval.search`. The page contains
Python's Unicode tables, because browsers may use another Unicode version.
"""

import base64
import gzip
import hashlib
import html
import io
import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets import DATASETS
from smfh.features.maps import row_norms
from smfh.features.text import PIECE, UNSPACED, Vocabulary, split_tokens
from smfh.hamming import DISTANCES
from smfh.hashing import FittedHasher
from smfh.retrieval.evaluation import PROTOCOLS, database_codes
from smfh.retrieval.search import (
    MAX_RESULTS,
    MAX_TIED,
    NEIGHBOURS,
    TIES,
    count_tokens,
    mean_target,
    spell_out,
    text_encoder,
    text_modalities,
)
from smfh.types import InputError, IntArray, Matrix, MultimodalDataset, Split, unknown

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src blob:; "
    "base-uri 'none'; form-action 'none'"
)
THUMBNAIL_PIXELS, MAX_PICTURE_BYTES = 128, 8 << 10  # larger pictures are scaled down
WEBP_QUALITY = 80
MAX_BYTES = 64 << 20  # before compression; takes 5 s and gives a file of 30 MB
SIGNATURES = {b"\x89PNG": "image/png", b"RIFF": "image/webp", b"\xff\xd8\xff": "image/jpeg"}
ARRAY_TYPES = {"f4": "f32", "f8": "f64", "u4": "u32", "u1": "u8"}  # NumPy name → name in the page
ALIGNMENT_BYTES = 8  # each array starts at a multiple of this
ASSIGNED = (range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE0200))  # ranges of assigned code points

Arrays = dict[str, NDArray[Any]]


def search_page(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str | None = None,
    target: str | None = None,
    ties: str = "likeness",
    distance: str = "asymmetric",
) -> str:
    """Return a page that searches `target` with words of `source`; None: first suitable modality.

    If ties stay in database order, the page does not contain the features of the target.
    """
    if ties not in TIES:
        raise unknown("order of ties", ties, TIES)
    if distance not in DISTANCES:
        raise unknown("distance", distance, DISTANCES)
    source = source or next(iter(text_modalities(data)), next(iter(data.modalities)))
    target = target or next((name for name in hasher.modalities if name != source), source)
    encoder, phi = text_encoder(data, source), hasher.functions[source].feature_map
    if too_large := size_problem(content_bytes(data, split, source, target, ties), ties):
        raise InputError(too_large)
    learnt = {
        "projection": hasher.functions[source].projection.ravel(),
        "thresholds": hasher.functions[source].thresholds,
    }
    if any(array.dtype != np.float32 for array in learnt.values()):
        raise InputError("The search page needs a model in single precision; train it on float32 features.")
    codes, rows = database_codes(hasher, data, split, target, "training")
    X, vocabulary = data.modalities[source][split.train], encoder.vocabulary
    captions, labels = words_of(data, rows)
    card = DATASETS[data.name].card if data.name in DATASETS else None
    examples = [card.example] if card else []
    examples += [captions[0], *(token for token in vocabulary.tokens if not token.startswith(PIECE))]
    known = (text for text in examples if encoder.encode([spell_out(text)]).sum() > 0)
    header = {
        "about": f"{len(rows):,} items, searched by words: {hasher.method.title}, {hasher.bits} bits, "
        f"{source} → {target}. Everything is in this file; it needs no network.",
        "distance": distance,
        "ties": f"{DISTANCES[distance]} {TIES[ties]}",
        "database": PROTOCOLS["training"],
        "terms": card.terms if card else "",
        "example": next(known, ""),
        "captions": captions,
        "labels": labels,
        "items": len(rows),
        "bits": hasher.bits,
        "most": MAX_RESULTS,
        "most_tied": MAX_TIED,
        "partners": NEIGHBOURS,
        "usual_length": float(count_tokens(X).mean()),
        "tokens": vocabulary.tokens,
        "letters": vocabulary.letters,
        "spelling": spelling_of(vocabulary),
        "map": {"power": phi.power, "unit_rows": phi.unit_rows, "width": phi.width},
    }
    halves = np.ascontiguousarray(codes, dtype="<u8").view(np.uint32)[:, : -(-hasher.bits // 32)]
    letters, marks = code_point_ranges()
    arrays: Arrays = {"letters": letters, "marks": marks, "codes": halves.ravel()}
    arrays |= _rows("source", X) | {"source_norms": row_norms(X).astype(np.float32)}
    if encoder.weights is not None:
        arrays["weights"] = encoder.weights.astype(np.float32)
    if ties == "likeness":
        arrays |= _rows("target", data.modalities[target][rows])
        arrays["usual"] = mean_target(data, split, target).astype(np.float64).ravel()
    arrays |= learnt
    if phi.anchors is not None:
        arrays |= _rows("anchors", phi.anchors) | {"anchor_squares": row_norms(phi.anchors) ** 2}
    if data.thumbnails is not None:
        header["types"], pictures = pictures_of([data.thumbnails[row] for row in rows])
        arrays |= pictures
    title = f"{card.title if card else data.name}, searched by {hasher.bits} bits"
    return assemble(title, pack_content(header, arrays))


def content_bytes(data: MultimodalDataset, split: Split, source: str, target: str, ties: str) -> int:
    """Estimate the size of a search page in bytes before compression, without creating the page."""
    features = [data.modalities[source], *([data.modalities[target]] if ties == "likeness" else [])]
    numbers = sum(X.nnz if sparse.issparse(X) else X.size for X in features)  # each stored with its column
    pictures = 0 if data.thumbnails is None else sum(min(len(file), MAX_PICTURE_BYTES) for file in data.thumbnails)
    characters = 0 if data.captions is None else sum(map(len, data.captions))
    return (8 * numbers + pictures + characters) * len(split.train) // len(data)


def size_problem(size: int, ties: str) -> str:
    """Return an error message if a page of this size is too large to export, else ""."""
    if size <= MAX_BYTES:
        return ""
    way_out = "use fewer items" + (", or keep ties in database order" if ties == "likeness" else "")
    return (
        f"Too large to export: about {size / 2**20:,.0f} MB before compression; the limit is "
        f"{MAX_BYTES >> 20} MB. You can {way_out}."
    )


def _rows(name: str, X: Matrix) -> Arrays:
    """Return a matrix as the three arrays of the CSR format; keys begin with `name`."""
    rows = sparse.csr_array(X)
    rows.sort_indices()
    return {
        f"{name}_starts": rows.indptr.astype(np.uint32),
        f"{name}_columns": rows.indices.astype(np.uint32),
        f"{name}_values": rows.data.astype(np.float32),
    }


def words_of(data: MultimodalDataset, rows: IntArray) -> tuple[list[str], list[str]]:
    """Return the caption of each item (else its labels, else its row number), and its labels."""
    names = np.array(data.class_names, dtype=object)
    labels = [", ".join(names[data.labels[row]]) for row in rows]
    captions = [""] * len(labels) if data.captions is None else [data.captions[row] for row in rows]
    return [a or b or f"item {row}" for a, b, row in zip(captions, labels, rows, strict=True)], labels


def pictures_of(files: Sequence[bytes]) -> tuple[list[str], Arrays]:
    """Return the MIME type of each picture, and the concatenated files; large ones are scaled down."""
    from PIL import Image

    light = []
    for file in files:
        if len(file) > MAX_PICTURE_BYTES or not _kind(file):
            with Image.open(io.BytesIO(file)) as picture:
                small = picture.convert("RGBA")
            small.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
            small.save(thumbnail := io.BytesIO(), "WEBP", quality=WEBP_QUALITY)
            file = thumbnail.getvalue()
        light.append(file)
    starts = np.cumsum([0, *map(len, light)]).astype(np.uint32)
    pictures = np.frombuffer(b"".join(light), dtype=np.uint8)
    return [_kind(file) for file in light], {"thumbnail_starts": starts, "thumbnails": pictures}


def _kind(file: bytes) -> str:
    return next((kind for signature, kind in SIGNATURES.items() if file.startswith(signature)), "")


def assemble(title: str, content: str) -> str:
    """Return the HTML file; its security policy allows only its own script and style."""
    script = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("hashing.js", "page.js"))
    script = f'"use strict";\n{script}'
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    digests = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    own_script, own_style = (base64.b64encode(digest).decode() for digest in digests)
    parts = {"title": html.escape(title), "style": style, "content": content, "script": script}
    parts["policy"] = POLICY.format(script=own_script, style=own_style)
    before, *sections = (FOLDER / "page.html").read_text(encoding="utf-8").split("{")
    filled = [before]
    for section in sections:
        name, _, after = section.partition("}")
        filled += [parts[name], after]
    return "".join(filled)


def pack_content(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Encode header length, header and arrays, in this order, as gzip in base64."""
    places, contents, end = {}, list[bytes](), 0
    for name, array in arrays.items():
        places[name] = [ARRAY_TYPES[array.dtype.str[1:]], end, array.size]
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        contents += [content, bytes(-len(content) % ALIGNMENT_BYTES)]
        end += len(content) + len(contents[-1])
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT_BYTES)
    whole = b"".join([len(text).to_bytes(4, "little"), text, *contents])
    return base64.b64encode(gzip.compress(whole, mtime=0)).decode()


@cache
def characters() -> list[str]:
    """Return all characters in the ranges of ASSIGNED."""
    return [chr(point) for points in ASSIGNED for point in points]


def spelling_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the tables for tokenisation in the browser: case folding, and names of symbols.

    A symbol is included if its name contains a word of the vocabulary, or if NFKC would turn the symbol into
    letters, such as 🈯 into 指.
    """
    known = set(vocabulary.tokens)
    symbols = (c for c in characters() if unicodedata.category(c) == "So")
    names = {c: spell_out(c).strip() for c in symbols}
    return {
        "unspaced": UNSPACED,
        "piece": PIECE,
        "fold": {c: c.casefold() for c in characters() if c.casefold() != c},
        "names": {
            c: name
            for c, name in names.items()
            if any(part.isalnum() for part in unicodedata.normalize("NFKC", c))
            or known & set(split_tokens(name, vocabulary.letters))
        },
    }


@cache
def code_point_ranges() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return code points of letters and digits, and of combining marks: first, last, first, last, …"""
    ranges = []
    for includes in (str.isalnum, lambda c: unicodedata.category(c)[0] == "M"):
        points = np.array([ord(c) for c in characters() if includes(c)], dtype=np.uint32)
        first = np.diff(points, prepend=0) != 1
        first[0] = True
        ranges.append(np.column_stack([points[first], points[np.append(first[1:], True)]]).ravel())
    return ranges[0], ranges[1]
