"""Search in one file: an HTML page with codes, pictures, words and hash function; no server, no network.

What the page does with them stands in hashing.js; its answers are those of `smfh.asking`.
"""

import base64
import hashlib
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.asking import (
    MOST_ANSWERS,
    MOST_TIED,
    PARTNERS,
    TIES,
    count_tokens,
    spell_out,
    takes_words,
    text_encoder,
    usual_target,
)
from smfh.datasets import DATASETS
from smfh.evaluation import PROTOCOLS, database_codes
from smfh.export.container import pack_content
from smfh.export.spelling import letter_ranges, mark_ranges, spelling_of
from smfh.features.maps import row_norms
from smfh.features.text import PIECE, TextEncoder, TfIdf
from smfh.hashing import FittedHasher, HashFunction
from smfh.types import InputError, IntArray, Matrix, MultimodalDataset, Split, unknown

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src blob:; "
    "base-uri 'none'; form-action 'none'"
)
PICTURE, LIGHT = 128, 8 << 10  # pixels of a thumbnail, and octets that are taken as they are
QUALITY = 80
MOST_BYTES = 64 << 20  # of content: 5 s of work, and a file of 30 MB, which is more than a mail takes
SIGNATURES = {b"\x89PNG": "image/png", b"RIFF": "image/webp", b"\xff\xd8\xff": "image/jpeg"}

Arrays = dict[str, NDArray[Any]]


def search_page(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str | None = None,
    target: str | None = None,
    ties: str = "likeness",
) -> str:
    """The whole page, which finds items of `target` for words of `source`; None: the first that can be.

    Where ties stay in database order, the page holds no features of what is found.
    """
    if ties not in TIES:
        raise unknown("order of ties", ties, TIES)
    source = source or next(iter(takes_words(data)), next(iter(data.modalities)))
    target = target or next((name for name in hasher.modalities if name != source), source)
    encoder, function = text_encoder(data, source), hasher.functions[source]
    if too_large := size_problem(content_bytes(data, split, source, target, ties), ties):
        raise InputError(too_large)
    codes, rows = database_codes(hasher, data, split, target, "training")
    X, vocabulary = data.modalities[source][split.train], encoder.vocabulary
    captions, labels = words_of(data, rows)
    title = DATASETS[data.name].card.title if data.name in DATASETS else data.name
    header = {
        "about": f"{len(rows):,} items, found by words: {hasher.method.title}, {hasher.bits} bits, "
        f"{source} → {target}. All of it is in this file; it needs no network.",
        "ties": TIES[ties],
        "database": PROTOCOLS["training"],
        "terms": DATASETS[data.name].card.terms if data.name in DATASETS else "",
        "example": known_example(data, encoder, captions),
        "captions": captions,
        "labels": labels,
        "items": len(rows),
        "bits": hasher.bits,
        "most": MOST_ANSWERS,
        "most_tied": MOST_TIED,
        "partners": PARTNERS,
        "usual_length": float(count_tokens(X).mean()),
        "tokens": vocabulary.tokens,
        "letters": vocabulary.letters,
        "spelling": spelling_of(vocabulary),
    }
    arrays: Arrays = {"letters": letter_ranges(), "marks": mark_ranges()}
    arrays["codes"] = (
        np.ascontiguousarray(codes, dtype="<u8").view(np.uint32)[:, : -(-hasher.bits // 32)].ravel()
    )
    arrays |= _rows("source", X) | {"source_norms": row_norms(X).astype(np.float32)}
    if isinstance(encoder, TfIdf):
        arrays["weights"] = encoder.weights.astype(np.float32)
    if ties == "likeness":
        arrays |= _rows("target", data.modalities[target][rows])
        arrays["usual"] = usual_target(data, split, target).astype(np.float64).ravel()
    header["map"], learnt = function_of(function)
    if data.thumbnails is not None:
        header["types"], pictures = pictures_of([data.thumbnails[row] for row in rows])
        arrays |= pictures
    return assemble(f"{title}, searched by {hasher.bits} bits", pack_content(header, arrays | learnt))


def content_bytes(data: MultimodalDataset, split: Split, source: str, target: str, ties: str) -> int:
    """About how many octets a page holds, before they are compressed; nothing is made to know it."""
    features = [data.modalities[source], *([data.modalities[target]] if ties == "likeness" else [])]
    numbers = sum(X.nnz if sparse.issparse(X) else X.size for X in features)  # each with its column
    pictures = 0 if data.thumbnails is None else sum(min(len(file), LIGHT) for file in data.thumbnails)
    said = 0 if data.captions is None else sum(map(len, data.captions))
    return (8 * numbers + pictures + said) * len(split.train) // len(data)


def size_problem(size: int, ties: str) -> str:
    """Why no page is made of so many octets; "" where one is."""
    if size <= MOST_BYTES:
        return ""
    way_out = "take fewer items" + (", or let ties stay in database order" if ties == "likeness" else "")
    return (
        f"All of it in one file would be about {size / 2**20:,.0f} MB before it is packed, and at most "
        f"{MOST_BYTES >> 20} MB are: {way_out}."
    )


def known_example(data: MultimodalDataset, encoder: TextEncoder, captions: Sequence[str]) -> str:
    """Words to begin with: the data set's example, or what else is known in the language that is asked in."""
    offered = [DATASETS[data.name].card.example] if data.name in DATASETS else []
    offered += [captions[0], *(token for token in encoder.vocabulary.tokens if not token.startswith(PIECE))]
    return next((words for words in offered if encoder.encode([spell_out(words)]).sum() > 0), "")


def function_of(function: HashFunction) -> tuple[dict[str, Any], Arrays]:
    """φ, W and thresholds, as they are."""
    phi = function.feature_map
    arrays: Arrays = {"projection": function.projection.ravel(), "thresholds": function.thresholds}
    if any(array.dtype != np.float32 for array in arrays.values()):
        raise InputError("A page holds models of single precision; this one was trained on double precision.")
    if phi.anchors is not None:
        arrays |= _rows("anchors", phi.anchors) | {"anchor_squares": row_norms(phi.anchors) ** 2}
    return {"power": phi.power, "unit_rows": phi.unit_rows, "width": phi.width}, arrays


def _rows(name: str, X: Matrix) -> Arrays:
    """A matrix as sparse rows."""
    rows = sparse.csr_array(X)
    rows.sort_indices()
    return {
        f"{name}_starts": rows.indptr.astype(np.uint32),
        f"{name}_columns": rows.indices.astype(np.uint32),
        f"{name}_values": rows.data.astype(np.float32),
    }


def words_of(data: MultimodalDataset, rows: IntArray) -> tuple[list[str], list[str]]:
    """What each item says, its labels or its number where it says nothing; and its labels."""
    names = np.array(data.class_names, dtype=object)
    labels = [", ".join(names[data.labels[row]]) for row in rows]
    said = [""] * len(labels) if data.captions is None else [data.captions[row] for row in rows]
    return [a or b or f"item {row}" for a, b, row in zip(said, labels, rows, strict=True)], labels


def pictures_of(files: Sequence[bytes]) -> tuple[list[str], Arrays]:
    """The kind of each picture, and all of them behind each other; heavy ones are made smaller."""
    light = [file if len(file) <= LIGHT and _kind(file) else shrink(file) for file in files]
    starts = np.cumsum([0, *map(len, light)]).astype(np.uint32)
    pictures = np.frombuffer(b"".join(light), dtype=np.uint8)
    return [_kind(file) for file in light], {"thumbnail_starts": starts, "thumbnails": pictures}


def _kind(file: bytes) -> str:
    return next((kind for signature, kind in SIGNATURES.items() if file.startswith(signature)), "")


def shrink(file: bytes) -> bytes:
    """The picture as a WebP file that fits a thumbnail."""
    from PIL import Image

    with Image.open(io.BytesIO(file)) as picture:
        small = picture.convert("RGBA")
    small.thumbnail((PICTURE, PICTURE))
    result = io.BytesIO()
    small.save(result, "WEBP", quality=QUALITY)
    return result.getvalue()


def assemble(title: str, content: str) -> str:
    """One HTML file that runs its own script and style and nothing else."""
    script = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("hashing.js", "page.js"))
    script = f'"use strict";\n{script}'
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    parts = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "content": content,
        "script": script,
    }
    before, *sections = (FOLDER / "page.html").read_text(encoding="utf-8").split("{")
    filled = [before]
    for section in sections:
        name, _, after = section.partition("}")
        filled += [parts[name], after]
    return "".join(filled)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
