"""Run the passes of a method over shards on workers, one task per group of parts, and save their sums.

A resumed fit starts again from the beginning, but reads the saved sums of earlier passes instead of computing
them. So it continues with the same numbers, and a method needs no saved state. Each task depends only on its
arguments and the files of some parts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from smfh.engine.engine import Workers
from smfh.engine.shards import Folder, Manifest, part_problems, read_labels, read_manifest, read_modality
from smfh.engine.worker import check_client_version
from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.hashing.blocks import ROWS, Block, Codes, Items, Pass, Sums, add_inplace, mapped_maxima, rows_of
from smfh.parallel import one_blas_thread
from smfh.types import FloatArray, InputError, IntArray, Words

TASKS_PER_WORKER = 4  # in a pass; a killed worker loses only one task
MAPS = "maps.npz"
CODES = "codes"  # folder of the packed codes
PASS, SAVED = "pass-", ".npz"  # a pass has a folder for its codes and a file for its sums


@dataclass(frozen=True)
class FitFolders:
    """The folders that a fit reads and writes, and the version of the program that runs it."""

    shards: Folder
    work: Folder
    program: str
    has_maps: bool = False  # whether feature maps φ(x) ≠ x are saved in `work`


@dataclass(frozen=True, eq=False)
class StoredCodes:
    """Codes of all items in the folder `name`, one file per part; their columns are divided by `heights` when read."""

    name: str
    heights: FloatArray | None = None  # (bits,)

    def rows(self, folders: FitFolders, part: str) -> Any:
        return folders.work.folder(self.name).array(f"{part}.npy")

    def read(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows) if self.heights is None else np.asarray(rows) / self.heights


class SavedPasses:
    """The sums of each pass over the data, saved in order, so that a resumed fit can reuse them."""

    def __init__(self, folders: FitFolders) -> None:
        self.work, self.passes, self.found = folders.work, 0, 0

    def next(self, kind: str, work: Callable[[str], Sums]) -> tuple[str, Sums]:
        """Return name and sums of the next pass: read if saved, else computed by `work` and saved."""
        name, self.passes = f"{PASS}{self.passes:05d}", self.passes + 1
        file = f"{name}{SAVED}"
        if self.work.exists(file):
            arrays = self.work.arrays(file)
            saved = json.loads(arrays["header"].tobytes())
            if saved["kind"] != kind:
                raise InputError(f"{file} in {self.work.address} was written by a {saved['kind']}; expected a {kind}.")
            self.found += 1
            return name, {tuple(key): np.array(arrays[str(k)]) for k, key in enumerate(saved["keys"])}
        sums = work(name)
        header = json.dumps({"kind": kind, "keys": list(sums)}).encode()
        values = {str(number): np.asarray(value) for number, value in enumerate(sums.values())}
        self.work.write_arrays(file, {"header": np.frombuffer(header, np.uint8), **values})
        return name, sums


class ShardedItems(Items):
    """The training items of shards; a method's passes over them run on workers."""

    def __init__(
        self,
        folders: FitFolders,
        manifest: Manifest,
        workers: Workers,
        saved: SavedPasses,
        maps: Mapping[str, FeatureMap] | None = None,
    ) -> None:
        self.folders, self.manifest, self.workers, self.saved = folders, manifest, workers, saved
        self.maxima: Mapping[str, FloatArray] = {m.name: np.array(m.maxima) for m in manifest.modalities}
        self.widths: Mapping[str, int] = {m.name: m.dimensions for m in manifest.modalities}
        if maps is not None:
            self.maxima = mapped_maxima(self.maxima, maps)
            self.widths = {t: len(largest) for t, largest in self.maxima.items()}
        self.X: Mapping[str, Any] = {
            m.name: RowsInShards(self, m.name, (len(self), m.dimensions)) for m in manifest.modalities
        }
        self.labels: Any = RowsInShards(self, None, (len(self), len(manifest.sizes)))
        self.dtype: np.dtype[Any] = np.result_type(*(np.dtype(m.dtype) for m in manifest.modalities))
        self.sizes, self.unlabelled = np.array(manifest.sizes), manifest.unlabelled

    def __len__(self) -> int:
        return self.manifest.items

    def with_features(self, maps: Mapping[str, FeatureMap]) -> Items:
        arrays = {}
        for number, modality in enumerate(self.manifest.modalities):
            phi = maps[modality.name]
            arrays[f"{number}.scaling"] = np.array([phi.power, float(phi.unit_rows), phi.width])
            if phi.anchors is not None:
                arrays[f"{number}.anchors"] = phi.anchors
        self.folders.work.write_arrays(MAPS, arrays)  # for `feature_maps`
        return ShardedItems(replace(self.folders, has_maps=True), self.manifest, self.workers, self.saved, maps)

    def run(self, step: Pass, *codes: Codes) -> tuple[Codes, Sums]:
        def work(name: str) -> Sums:
            total: Sums = {}
            parts = len(self.manifest.parts)
            groups = np.array_split(np.arange(parts), min(parts, TASKS_PER_WORKER * self.workers.count))
            arguments = [(self.folders, group.tolist(), step, codes, name) for group in groups]
            for sums in self.workers.map(run_parts, arguments):
                add_inplace(total, sums)
            return total

        name, sums = self.saved.next(step.name, work)
        if not step.bits:
            return None, sums
        for replaced in codes:
            self.folders.work.remove(replaced.name)
        return StoredCodes(name), sums

    def sweep(self, step: Pass, carried: Sums, *codes: Codes) -> tuple[Codes, Sums]:
        def work(name: str) -> Sums:
            sums = carried
            for number in range(len(self.manifest.parts)):
                (sums,) = self.workers.map(run_parts, [(self.folders, [number], step, codes, name, sums)])
            return sums

        name, sums = self.saved.next(step.name, work)
        for replaced in codes:
            self.folders.work.remove(replaced.name)
        return StoredCodes(name), sums

    def split_by_part(self, rows: IntArray) -> list[tuple[int, IntArray]]:
        """Return (part number, row numbers within the part) for each part with some of the sorted rows."""
        starts = self.manifest.starts
        cuts = np.searchsorted(rows, starts)
        return [
            (number, rows[cuts[number] : cuts[number + 1]] - starts[number])
            for number in range(len(starts) - 1)
            if cuts[number] < cuts[number + 1]
        ]

    def take_codes(self, codes: StoredCodes, rows: IntArray) -> FloatArray:
        def work(name: str) -> Sums:
            arguments = [(self.folders, number, inside, codes) for number, inside in self.split_by_part(rows)]
            return {("codes", ""): np.concatenate(self.workers.map(take_codes, arguments))}

        return self.saved.next("take", work)[1]["codes", ""]

    def divide(self, codes: StoredCodes, heights: FloatArray) -> Codes:
        return StoredCodes(codes.name, heights if codes.heights is None else codes.heights * heights)

    def pack(self, codes: StoredCodes, thresholds: FloatArray) -> Words:
        def work(name: str) -> Sums:
            parts = range(len(self.manifest.parts))
            arguments = [(self.folders, number, codes, thresholds) for number in parts]
            self.workers.map(pack_part, arguments)
            return {}

        self.saved.next("pack", work)
        return np.zeros((0, -(-len(thresholds) // 64)), np.uint64)


class RowsInShards:
    """Matrix of a modality, or of the labels, whose rows are read from the shards on demand."""

    def __init__(self, items: ShardedItems, modality: str | None, shape: tuple[int, ...]) -> None:
        self.items, self.modality, self.shape = items, modality, shape

    def __getitem__(self, rows: IntArray) -> Any:
        parts = self.items.split_by_part(np.sort(rows))
        arguments = [(self.items.folders, number, inside, self.modality) for number, inside in parts]
        taken = self.items.workers.map(take_rows, arguments)
        if not taken:
            return np.zeros((0, *self.shape[1:]), np.bool_)
        order = np.argsort(np.argsort(rows, kind="stable"), kind="stable")
        whole: Any = sparse.vstack(taken, "csr") if sparse.issparse(taken[0]) else np.concatenate(taken)
        return whole[order]


# Tasks for workers.


@lru_cache(maxsize=4)
def open_shards(folders: FitFolders) -> Manifest:
    """Return the manifest of the shards; raise InputError if client and worker have different versions."""
    check_client_version(folders.program)
    return read_manifest(folders.shards)


@lru_cache(maxsize=4)
def feature_maps(folders: FitFolders) -> Mapping[str, FeatureMap]:
    """Return the feature map φ of every modality, saved by the client; the identity if none was saved."""
    if not folders.has_maps:
        return {m.name: FeatureMap() for m in open_shards(folders).modalities}
    arrays, maps = folders.work.arrays(MAPS), {}
    for number, modality in enumerate(open_shards(folders).modalities):
        power, unit_rows, width = arrays[f"{number}.scaling"].tolist()
        maps[modality.name] = FeatureMap(power, bool(unit_rows), arrays.get(f"{number}.anchors"), width)
    return maps


def check_part(folders: FitFolders, number: int) -> list[str]:
    """Return the problems of a part's files; raise InputError if this worker has another program version."""
    return part_problems(folders.shards, open_shards(folders).parts[number])


def run_parts(
    folders: FitFolders,
    numbers: Sequence[int],
    step: Pass,
    codes: Sequence[StoredCodes],
    name: str,
    carried: Sums | None = None,
) -> Sums:
    """Run a pass over some parts: write their new codes to folder `name` and return their sums.

    If `carried` sums are given, the pass is a sweep: each block gets the sums that the previous block
    returned. The blocks of a sweep have labels but no features, because a sweep does not use features.
    """
    manifest, is_sweep = open_shards(folders), carried is not None
    total: Sums = {} if carried is None else carried
    maps = {} if is_sweep else feature_maps(folders)
    with one_blas_thread():
        for number in numbers:
            part, first, made = manifest.parts[number], manifest.starts[number], []
            X = {t: read_modality(folders.shards, manifest, part, t) for t in maps}
            labels = read_labels(folders.shards, part)
            inputs = [stored.rows(folders, part.name) for stored in codes]
            for start in range(0, part.rows, ROWS):
                rows = slice(start, min(start + ROWS, part.rows))
                features = {t: maps[t](rows_of(x, rows)) for t, x in X.items()}
                block = Block(first + start, features, labels[rows])
                given = (stored.read(Y[rows]) for stored, Y in zip(codes, inputs, strict=True))
                if is_sweep:
                    new, total = step(block, total, *given)
                else:
                    new, sums = step(block, *given)
                    add_inplace(total, sums)
                if new is not None:
                    made.append(new)
            if made:
                folders.work.folder(name).make().write_array(f"{part.name}.npy", np.concatenate(made))
    return total


def take_rows(folders: FitFolders, number: int, rows: IntArray, modality: str | None) -> Any:
    """Return some rows of a part: the features of one modality, or the labels (None)."""
    manifest = open_shards(folders)
    part = manifest.parts[number]
    if modality is None:
        return read_labels(folders.shards, part)[rows]
    return read_modality(folders.shards, manifest, part, modality)[rows]


def take_codes(folders: FitFolders, number: int, rows: IntArray, stored: StoredCodes) -> FloatArray:
    """Return the codes of some rows of a part."""
    return stored.read(stored.rows(folders, open_shards(folders).parts[number].name)[rows])


def pack_part(folders: FitFolders, number: int, stored: StoredCodes, thresholds: FloatArray) -> None:
    """Write the codes of a part as packed bits; a bit is 1 if its value exceeds the threshold."""
    part = open_shards(folders).parts[number].name
    bits = stored.read(stored.rows(folders, part)) > thresholds
    folders.work.folder(CODES).make().write_array(f"{part}.npy", pack(bits))
