"""The tasks: what is done with some parts of the shards wherever a worker is, from files alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from smfh.cluster.manifest import (
    Manifest,
    part_problems,
    read_labels,
    read_manifest,
    read_modality,
    read_rows,
)
from smfh.cluster.program import check_program
from smfh.cluster.storage import Folder
from smfh.features.maps import FeatureMap
from smfh.hamming import judge, pack, rank, tally
from smfh.hashing.items import Block, Step, Sweep, apply, rows_of
from smfh.hashing.products import ROWS, one_blas_thread
from smfh.hashing.sums import Sums, add_inplace
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, Words

MAPS = "maps.npz"


@dataclass(frozen=True)
class Place:
    """Where a fit reads and writes, and by which program it is led."""

    shards: Folder
    work: Folder
    program: str
    has_maps: bool = False  # φ other than x

    def with_maps(self) -> "Place":
        return Place(self.shards, self.work, self.program, True)


@dataclass(frozen=True, eq=False)
class Kept:
    """Codes of all items in a folder, a file a part, to be divided by the heights when they are read."""

    name: str
    heights: FloatArray | None = None  # (bits,)

    def rows(self, place: Place, part: str) -> Any:
        return place.work.folder(self.name).array(f"{part}.npy")

    def read(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows) if self.heights is None else np.asarray(rows) / self.heights


@lru_cache(maxsize=4)
def open_shards(place: Place) -> Manifest:
    """The manifest, if the worker runs the client's program."""
    check_program(place.program)
    return read_manifest(place.shards)


@lru_cache(maxsize=4)
def feature_maps(place: Place) -> Mapping[str, FeatureMap]:
    """φ of every modality, as the client wrote them."""
    if not place.has_maps:
        return {m.name: FeatureMap() for m in open_shards(place).modalities}
    arrays, maps = place.work.arrays(MAPS), {}
    for number, modality in enumerate(open_shards(place).modalities):
        power, unit_rows, width = arrays[f"{number}.scaling"].tolist()
        maps[modality.name] = FeatureMap(power, bool(unit_rows), arrays.get(f"{number}.anchors"), width)
    return maps


def write_maps(place: Place, maps: Mapping[str, FeatureMap]) -> None:
    arrays = {}
    for number, modality in enumerate(open_shards(place).modalities):
        phi = maps[modality.name]
        arrays[f"{number}.scaling"] = np.array([phi.power, float(phi.unit_rows), phi.width])
        if phi.anchors is not None:
            arrays[f"{number}.anchors"] = phi.anchors
    place.work.write_arrays(MAPS, arrays)


def blocks_of(place: Place, number: int) -> Iterator[Block]:
    """The blocks of a part, each read when it is its turn."""
    manifest, maps = open_shards(place), feature_maps(place)
    part, first = manifest.parts[number], manifest.starts[number]
    X, labels = read_rows(place.shards, manifest, part)
    for start in range(0, part.rows, ROWS):
        rows = slice(start, min(start + ROWS, part.rows))
        yield Block(first + start, {t: maps[t](rows_of(x, rows)) for t, x in X.items()}, labels[rows])


def check_part(place: Place, number: int) -> list[str]:
    """What is wrong with a part, or with this worker."""
    manifest = open_shards(place)
    return part_problems(place.shards, manifest.parts[number])


def run_parts(place: Place, numbers: Sequence[int], step: Step, codes: Sequence[Kept], name: str) -> Sums:
    """One step over some parts in one pass: their new codes are written, their sums returned."""
    total: Sums = {}
    with one_blas_thread():
        for number in numbers:
            part, first = open_shards(place).parts[number], open_shards(place).starts[number]
            inputs = [kept.rows(place, part.name) for kept in codes]
            new: FloatArray | None = None
            for block in blocks_of(place, number):
                rows = slice(block.start - first, block.start - first + len(block))
                given = (kept.read(Y[rows]) for kept, Y in zip(codes, inputs, strict=True))
                made, sums = apply(step, block, *given)
                add_inplace(total, sums)
                if made is not None:
                    new = np.empty((part.rows, step.bits), made.dtype) if new is None else new
                    new[rows] = made
            if new is not None:
                place.work.folder(name).make().write_array(f"{part.name}.npy", new)
    return total


def sweep_part(
    place: Place, number: int, step: Sweep, carried: Sums, codes: Sequence[Kept], name: str
) -> Sums:
    """One step over a part that goes on from the part before it: new codes, and what is left to the next."""
    part, first = open_shards(place).parts[number], open_shards(place).starts[number]
    inputs = [kept.rows(place, part.name) for kept in codes]
    made = []
    with one_blas_thread():
        for block in label_blocks(place, number):
            rows = slice(block.start - first, block.start - first + len(block))
            given = (kept.read(Y[rows]) for kept, Y in zip(codes, inputs, strict=True))
            new, carried = apply(step, block, carried, *given)
            made.append(new)
    place.work.folder(name).make().write_array(f"{part.name}.npy", np.concatenate(made))
    return carried


def label_blocks(place: Place, number: int) -> Iterator[Block]:
    """The blocks of a part without their features, which a sweep does not look at."""
    manifest = open_shards(place)
    part, first = manifest.parts[number], manifest.starts[number]
    labels = labels_of(place, number)
    for start in range(0, part.rows, ROWS):
        yield Block(first + start, {}, labels[start : start + ROWS])


def labels_of(place: Place, number: int) -> BoolArray:
    return read_labels(place.shards, open_shards(place).parts[number])


def take_labels(place: Place, number: int, places: IntArray) -> BoolArray:
    """Of some rows of a part."""
    return labels_of(place, number)[places]


def take_rows(place: Place, number: int, places: IntArray, modality: str) -> Matrix:
    """Some rows of a part as they came, of one modality."""
    manifest = open_shards(place)
    rows: Matrix = read_modality(place.shards, manifest, manifest.parts[number], modality)[places]
    return rows


def take_codes(place: Place, number: int, places: IntArray, kept: Kept) -> FloatArray:
    """Some rows of a part's codes."""
    return kept.read(kept.rows(place, open_shards(place).parts[number].name)[places])


def pack_part(place: Place, number: int, kept: Kept, thresholds: FloatArray, name: str) -> None:
    """Write the bits that are on in a part's codes."""
    part = open_shards(place).parts[number].name
    bits = kept.read(kept.rows(place, part)) > thresholds
    place.work.folder(name).make().write_array(f"{part}.npy", pack(bits))


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest items of some parts, nearest first, ties in their order; each (queries, top)."""

    rows: IntArray
    distances: IntArray
    relevance: BoolArray

    def merge(self, later: "Nearest", top: int) -> "Nearest":
        """With those of later parts."""
        rows, distances, relevance = (
            np.concatenate([a, b], axis=1)
            for a, b in zip(vars(self).values(), vars(later).values(), strict=True)
        )
        order = np.argsort(distances, axis=1, kind="stable")[:, :top]
        return Nearest(*(np.take_along_axis(a, order, axis=1) for a in (rows, distances, relevance)))


def rank_part(
    place: Place, number: int, name: str, queries: Words, labels: Words | None, bits: int, top: int
) -> tuple[Nearest, IntArray, IntArray]:
    """The nearest items of a part, and how many items, and relevant ones, it has at each distance."""
    codes = np.asarray(place.work.folder(name).array(f"{open_shards(place).parts[number].name}.npy"))
    order, distances = rank(queries, codes, top)
    rows = order.astype(np.int64) + open_shards(place).starts[number]
    if labels is None:
        nothing = np.zeros((len(queries), 0), np.int64)
        return Nearest(rows, distances, np.zeros(order.shape, np.bool_)), nothing, nothing
    own = pack(labels_of(place, number))
    counted = tally(queries, codes, labels, own, bits)
    return Nearest(rows, distances, judge(order, labels, own)), counted.items_at, counted.relevant_at


def sum_precisions(
    place: Place,
    number: int,
    name: str,
    queries: Words,
    labels: Words,
    bits: int,
    before: tuple[IntArray, IntArray],
) -> FloatArray:
    """Σ_k P@k · rel(k) over the places k that items of the part have in the ranking of all."""
    codes = np.asarray(place.work.folder(name).array(f"{open_shards(place).parts[number].name}.npy"))
    own = pack(labels_of(place, number))
    return tally(queries, codes, labels, own, bits, before).precision_sums
