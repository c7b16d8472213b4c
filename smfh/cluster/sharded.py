"""Items in shards: every pass is a task for each group of parts, and is written down when all are done.

A fit that was broken off is begun again from its first line: what is written down is not done anew but read,
so that it goes on where it was, with the same numbers, and no state of a method has to be saved.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from smfh.cluster import tasks
from smfh.cluster.manifest import Manifest, maxima_of
from smfh.cluster.tasks import Kept, Place
from smfh.cluster.workers import Workers
from smfh.features.maps import FeatureMap
from smfh.hashing.items import Codes, Items, RowsOf, Step, Sweep, mapped_maxima
from smfh.hashing.sums import Sums, add_inplace
from smfh.types import FloatArray, InputError, IntArray, Words

TASKS_PER_WORKER = 4  # in a pass: a worker that is killed loses one of them
CODES = "codes"
PASS, WRITTEN = "pass-", ".npz"  # a pass: the folder of its codes; with the ending, what it has added up


class Journal:
    """What every pass of a fit has added up, in the order of the passes."""

    def __init__(self, place: Place) -> None:
        self.work, self.passes, self.found = place.work, 0, 0

    def next(self, kind: str, work: Callable[[str], Sums]) -> tuple[str, Sums]:
        """The name of the next pass, and its sums: as written down, or by `work`, and then written down."""
        name, self.passes = f"{PASS}{self.passes:05d}", self.passes + 1
        file = f"{name}{WRITTEN}"
        if self.work.exists(file):
            arrays = self.work.arrays(file)
            said = json.loads(arrays["header"].tobytes())
            if said["kind"] != kind:
                raise InputError(f"{file} in {self.work.address} is of a {said['kind']}, not of a {kind}.")
            self.found += 1
            return name, {tuple(key): np.array(arrays[str(k)]) for k, key in enumerate(said["keys"])}
        sums = work(name)
        header = json.dumps({"kind": kind, "keys": list(sums)}).encode()
        values = {str(number): np.asarray(value) for number, value in enumerate(sums.values())}
        self.work.write_arrays(file, {"header": np.frombuffer(header, np.uint8), **values})
        return name, sums

    @property
    def kept(self) -> int:
        """Passes that were written down by now, whoever did them."""
        return sum(name.startswith(PASS) and name.endswith(WRITTEN) for name in self.work.names())

    def forget_codes(self) -> None:
        """When all is learnt: what passes wrote down is not done anew, so nobody asks for their codes."""
        for name in self.work.names():
            if name.startswith(PASS) and not name.endswith(WRITTEN):
                self.work.remove(name)


class ShardedItems:
    """All that a method asks of its items, answered by workers."""

    def __init__(
        self,
        place: Place,
        manifest: Manifest,
        workers: Workers,
        journal: Journal,
        maps: Mapping[str, FeatureMap] | None = None,
    ) -> None:
        self.place, self.manifest, self.workers, self.journal = place, manifest, workers, journal
        self.maxima: Mapping[str, FloatArray] = maxima_of(manifest)
        self.widths: Mapping[str, int] = {m.name: m.dimensions for m in manifest.modalities}
        if maps is not None:
            self.maxima = mapped_maxima(self.maxima, maps)
            self.widths = {t: len(largest) for t, largest in self.maxima.items()}

    def __len__(self) -> int:
        return self.manifest.items

    @property
    def X(self) -> Mapping[str, RowsOf]:
        return {
            m.name: RowsInShards(self, m.name, (len(self), m.dimensions)) for m in self.manifest.modalities
        }

    @property
    def labels(self) -> RowsOf:
        return RowsInShards(self, None, (len(self), len(self.manifest.sizes)))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(np.dtype(m.dtype) for m in self.manifest.modalities))

    @property
    def sizes(self) -> IntArray:
        return np.array(self.manifest.sizes)

    @property
    def unlabelled(self) -> int:
        return self.manifest.unlabelled

    def with_features(self, maps: Mapping[str, FeatureMap]) -> Items:
        tasks.write_maps(self.place, maps)
        return ShardedItems(self.place.with_maps(), self.manifest, self.workers, self.journal, maps)

    def groups(self) -> list[list[int]]:
        """The parts, so that there are a few groups for each worker, however many parts there are."""
        count = min(len(self.manifest.parts), TASKS_PER_WORKER * self.workers.count)
        return [group.tolist() for group in np.array_split(np.arange(len(self.manifest.parts)), count)]

    def run(self, step: Step, *codes: Codes) -> tuple[Codes, Sums]:
        def work(name: str) -> Sums:
            total: Sums = {}
            arguments = [(self.place, group, step, codes, name) for group in self.groups()]
            for sums in self.workers.map(tasks.run_parts, arguments):
                add_inplace(total, sums)
            return total

        name, sums = self.journal.next(type(step).__name__, work)
        if step.bits:
            self.forget(codes)
        return (Kept(name) if step.bits else None), sums

    def sweep(self, step: Sweep, carried: Sums, *codes: Codes) -> tuple[Codes, Sums]:
        def work(name: str) -> Sums:
            left = carried
            for number in range(len(self.manifest.parts)):
                given = [(self.place, number, step, left, codes, name)]
                (left,) = self.workers.map(tasks.sweep_part, given)
            return left

        name, left = self.journal.next(type(step).__name__, work)
        self.forget(codes)
        return Kept(name), left

    def forget(self, codes: Sequence[Kept]) -> None:
        """These went into the codes that are written down now."""
        for kept in codes:
            self.place.work.remove(kept.name)

    def take(self, rows: IntArray, modality: str | None) -> list[Any]:
        """Some rows of a modality, or of the labels, by part; nothing that was not asked for is sent."""
        arguments = [(self.place, number, places) for number, places in self.places(np.sort(rows))]
        if modality is None:
            return self.workers.map(tasks.take_labels, arguments)
        return self.workers.map(tasks.take_rows, [(*given, modality) for given in arguments])

    def places(self, rows: IntArray) -> list[tuple[int, IntArray]]:
        """The parts that hold some of these rows, which rise, and where in them they lie."""
        starts = self.manifest.starts
        cuts = np.searchsorted(rows, starts)
        return [
            (number, rows[cuts[number] : cuts[number + 1]] - starts[number])
            for number in range(len(starts) - 1)
            if cuts[number] < cuts[number + 1]
        ]

    def take_codes(self, codes: Kept, rows: IntArray) -> FloatArray:
        def work(name: str) -> Sums:
            arguments = [(self.place, number, places, codes) for number, places in self.places(rows)]
            return {("codes", ""): np.concatenate(self.workers.map(tasks.take_codes, arguments))}

        return self.journal.next("take", work)[1]["codes", ""]

    def divide(self, codes: Kept, heights: FloatArray) -> Codes:
        return Kept(codes.name, heights if codes.heights is None else codes.heights * heights)

    def pack(self, codes: Kept, thresholds: FloatArray) -> Words:
        def work(name: str) -> Sums:
            parts = range(len(self.manifest.parts))
            arguments = [(self.place, number, codes, thresholds, CODES) for number in parts]
            self.workers.map(tasks.pack_part, arguments)
            return {}

        self.journal.next("pack", work)
        return np.zeros((0, -(-len(thresholds) // 64)), np.uint64)


class RowsInShards:
    """A modality, or the labels, of which rows can be had."""

    def __init__(self, items: ShardedItems, modality: str | None, shape: tuple[int, ...]) -> None:
        self.items, self.modality, self.shape = items, modality, shape

    def __getitem__(self, rows: IntArray) -> Any:
        taken = self.items.take(rows, self.modality)
        if not taken:
            return np.zeros((0, *self.shape[1:]), np.bool_)
        order = np.argsort(np.argsort(rows, kind="stable"), kind="stable")
        whole: Any = sparse.vstack(taken, "csr") if sparse.issparse(taken[0]) else np.concatenate(taken)
        return whole[order]
