"""The folder of runs: find, save, list, rename, delete."""

import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TypeVar

from smfh.datasets import DatasetSource
from smfh.datasets.cache import cache_folder
from smfh.files import read_npz
from smfh.files.arrays import write_npz, write_whole
from smfh.hashing import FittedHasher
from smfh.hashing.storage import hasher_arrays, hasher_file, hasher_of
from smfh.jobs import JobKey
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.store.judgement import (
    SUMS,
    Judged,
    judged_of,
    judgement_arrays,
    judgement_names,
    ranking_of,
    result_of,
)
from smfh.store.record import (
    Damaged,
    Direction,
    Listing,
    RunRecord,
    Timing,
    header_of,
    packed_header,
    record_of,
    run_id,
)
from smfh.study import Trained
from smfh.types import InputError, RetrievalResult, unknown

HEADER = "run"
ID = re.compile(r"[0-9a-f]{64}")
GIGABYTE = 10**9
USUAL_GIGABYTES = 5.0
LONGEST_TITLE = 80
LEFT_OVER = 3600.0  # seconds after which the temporary file of another writer is one that was killed
KEPT_JUDGED = 2000  # in memory; each some 25 kB
USUAL = AP_DEFINITIONS["found"]
T = TypeVar("T")


def runs_folder() -> Path:
    """Where runs are kept unless another folder is named."""
    return cache_folder() / "runs"


@dataclass(frozen=True)
class StoredRun:
    """A run in the folder; what it holds is read when it is asked for."""

    record: RunRecord
    store: "RunStore"

    def result(
        self, source: str, target: str, protocol: str = "training", definition: APDefinition = USUAL
    ) -> RetrievalResult:
        """The search by any definition; its ranking has no `indices` and no `distances`."""
        return self.store.result(self.record, (source, target, protocol), definition)

    def judged(
        self, source: str, target: str, protocol: str = "training", definition: APDefinition = USUAL
    ) -> Judged:
        """Its scores and curves, remembered."""
        return self.store.judged(self.record, (source, target, protocol), definition)

    @property
    def hasher(self) -> FittedHasher:
        return self.store.model(self.record.id)


class RunStore:
    """Any number of them, in any number of programs, may work on one folder: a file is whole or not there."""

    def __init__(self, folder: Path | None = None, gigabytes: float | None = None) -> None:
        self.folder = runs_folder() if folder is None else folder
        self.limit = (limit_from_environment() if gigabytes is None else gigabytes) * GIGABYTE
        self._records: dict[str, tuple[tuple[int, int], RunRecord | Damaged]] = {}  # by id, with their stamp
        self._judged: OrderedDict[tuple[str, tuple[int, int], Direction, APDefinition], Judged] = (
            OrderedDict()
        )
        self._lock = Lock()

    def find(self, key: JobKey) -> StoredRun | None:
        """The run that this key decides; None where it is not there, is damaged, or is private."""
        return None if key.owner else self.get(run_id(key))

    def get(self, id: str) -> StoredRun | None:
        """The run of this id; None where it is not there or is damaged."""
        found = self._look(id)
        return StoredRun(found, self) if isinstance(found, RunRecord) else None

    def save(self, key: JobKey, source: DatasetSource, trained: Trained, timing: Timing) -> RunRecord:
        """Write the run; in place of one of the same id, which says the same."""
        if key.owner:
            raise InputError("What was trained on own data belongs to its visitor and is not kept on disk.")
        self.check_room()
        name, model = run_id(key), hasher_arrays(trained.hasher)
        header = packed_header(header_of(key, source, trained, timing, list(model)))
        arrays = {HEADER: header, **model, **judgement_arrays(trained)}
        self._write(self._path(name), lambda path: write_npz(path, arrays, level=1))
        saved = self._look(name)
        if not isinstance(saved, RunRecord):  # deleted at once by somebody, or the disk lies
            raise InputError("The run was written and cannot be read again; look at the disk.")
        return saved

    def listing(self) -> Listing:
        """All runs and all that is damaged; only headers are read, and only of what has changed."""
        found = [self._look(name) for name in self._ids()]
        runs = sorted((r for r in found if isinstance(r, RunRecord)), key=lambda r: (r.when, r.id))
        return Listing(tuple(reversed(runs)), tuple(d for d in found if isinstance(d, Damaged)))

    def records(self) -> list[RunRecord]:
        """All runs, the newest first."""
        return list(self.listing().runs)

    def result(self, record: RunRecord, direction: Direction, definition: APDefinition) -> RetrievalResult:
        """One search of the run, scored by this definition from what was kept."""
        order = list(record.scores)
        if direction not in order:
            raise unknown("search", " ".join(direction), [" ".join(known) for known in order])
        number, path = order.index(direction), self._path(record.id)

        def read() -> RetrievalResult:
            arrays = read_npz(path, [*judgement_names(number), SUMS])
            return result_of(record, direction, ranking_of(record, number, arrays), definition)

        return self._read(record.id, read)

    def judged(self, record: RunRecord, direction: Direction, definition: APDefinition) -> Judged:
        """The same in small, from memory where it was asked for before."""
        key = (record.id, self._stamp(record.id) or (0, 0), direction, definition)
        with self._lock:
            if key in self._judged:
                self._judged.move_to_end(key)
                return self._judged[key]
        judged = judged_of(self.result(record, direction, definition))
        with self._lock:
            self._judged[key] = judged
            while len(self._judged) > KEPT_JUDGED:
                self._judged.popitem(last=False)
        return judged

    def model(self, id: str) -> FittedHasher:
        """The model of the run."""
        record = self._look(id)
        if not isinstance(record, RunRecord):
            raise InputError(f"There is no run {id[:12]} any more; it was deleted or is damaged.")
        path = self._path(id)
        return self._read(id, lambda: hasher_of(read_npz(path, record.model_arrays), path.name))

    def model_file(self, id: str) -> bytes:
        """The model as a file of its own, for who wants to take it along."""
        return hasher_file(self.model(id))

    def rename(self, id: str, title: str) -> None:
        """Give the run a title, or take it away with an empty one."""
        title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
        if len(title) > LONGEST_TITLE:
            raise InputError(f"A title has at most {LONGEST_TITLE} characters; this one has {len(title)}.")
        beside = self._path(id).with_suffix(".title")
        if title:
            text = title.encode()
            self._write(beside, lambda path: write_whole(path, lambda file: file.write(text)))
        else:
            beside.unlink(missing_ok=True)

    def delete(self, id: str) -> None:
        """Remove the run and its title; nothing happens where it is gone already."""
        path = self._path(id)
        try:
            path.unlink(missing_ok=True)
            path.with_suffix(".title").unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"The run cannot be deleted: {error.strerror or error}.") from error

    def check_room(self) -> None:
        """Refuse where the folder is full; on the way, sweep what killed writers left behind."""
        used, oldest = 0, time.time() - LEFT_OVER
        for entry in self._entries():
            try:
                about = entry.stat()
            except OSError:  # gone meanwhile
                continue
            if entry.name.startswith(".") and about.st_mtime < oldest:
                Path(entry.path).unlink(missing_ok=True)
            else:
                used += about.st_size
        if used >= self.limit:
            raise InputError(
                f"The kept runs take {used / GIGABYTE:.2f} GB, and {self.limit / GIGABYTE:g} GB are allowed: "
                "delete some on the Runs page, or set SMFH_RUNS_GB to more."
            )

    def _path(self, id: str) -> Path:
        if not ID.fullmatch(id):
            raise InputError(f"A run's id is 64 hexadecimal digits; got {id[:80]!r}.")
        return self.folder / f"{id}.npz"

    def _entries(self) -> list["os.DirEntry[str]"]:
        try:
            with os.scandir(self.folder) as entries:
                return list(entries)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"The folder of runs cannot be read: {error.strerror or error}.") from error

    def _ids(self) -> list[str]:
        names = [entry.name for entry in self._entries()]
        return [n.removesuffix(".npz") for n in names if n.endswith(".npz") and ID.fullmatch(n[:-4])]

    def _stamp(self, id: str) -> tuple[int, int] | None:
        """Changes whenever the file does; None where there is none."""
        try:
            about = self._path(id).stat()
        except OSError:
            return None
        return about.st_mtime_ns, about.st_size

    def _look(self, id: str) -> RunRecord | Damaged | None:
        """The header of the run, read once for as long as its file stays the same."""
        stamp = self._stamp(id)
        if stamp is None:
            self._records.pop(id, None)
            return None
        kept = self._records.get(id)
        if kept is None or kept[0] != stamp:
            kept = self._records[id] = stamp, self._read_header(id, stamp[1])
        found = kept[1]
        return replace(found, title=self._title(id)) if isinstance(found, RunRecord) else found

    def _read_header(self, id: str, size: int) -> RunRecord | Damaged:
        try:
            header = read_npz(self._path(id), [HEADER])[HEADER].tobytes()
            return record_of(id, header, "", size)
        except InputError as error:
            return Damaged(id, " ".join(error.problems), size)

    def _title(self, id: str) -> str:
        try:
            with self._path(id).with_suffix(".title").open("rb") as file:
                return file.read(4 * LONGEST_TITLE).decode(errors="replace")[:LONGEST_TITLE]
        except OSError:
            return ""

    def _read(self, id: str, read: Callable[[], T]) -> T:
        """Read from the file of a run; where that fails, the run counts as damaged until its file changes."""
        stamp = self._stamp(id)
        try:
            return read()
        except InputError as error:
            if stamp is not None and stamp == self._stamp(id):
                self._records[id] = stamp, Damaged(id, " ".join(error.problems), stamp[1])
            raise

    def _write(self, path: Path, write: Callable[[Path], None]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(path)
        except OSError as error:
            raise InputError(
                f"The folder of runs cannot be written: {error.strerror or error}. "
                "Make room, or name another folder with SMFH_CACHE."
            ) from error


def limit_from_environment() -> float:
    """SMFH_RUNS_GB, or the usual limit."""
    text = os.environ.get("SMFH_RUNS_GB", "")
    try:
        limit = float(text or USUAL_GIGABYTES)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise InputError(f"SMFH_RUNS_GB must be a number of gigabytes such as 5; got {text[:40]!r}.")
    return limit
