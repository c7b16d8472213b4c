"""Finished runs on disk: one file each, whole or not there; find, save, list, rename, delete."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from smfh.ceiling import Ceiling
from smfh.datasets.cache import cache_folder
from smfh.evaluation import evaluate
from smfh.files import read_npz
from smfh.files.arrays import write_npz
from smfh.files.whole import clear_left_over, write_whole
from smfh.hashing import FittedHasher
from smfh.hashing.storage import hasher_arrays, hasher_of
from smfh.memory import Memory
from smfh.metrics import Scores
from smfh.runs.ceilings import CeilingKey, read_ceiling, write_ceiling
from smfh.runs.key import RunKey
from smfh.runs.record import OlderVersionError, RunRecord, Timing, read_header, write_header
from smfh.runs.run import Run, Search, ready_searches
from smfh.runs.scores import array_names, read_scores, scores_arrays
from smfh.types import InputError, MultimodalDataset, Split

HEADER = "run"
ID = re.compile(r"[0-9a-f]{64}")
GIGABYTE = 10**9
USUAL_GIGABYTES = 5.0
LONGEST_TITLE = 80
FULL, UNWRITABLE = "full", "unwritable"  # what keeps a run from the folder
REMEMBERED_SCORES = 1000  # in memory; 40 kB each on Wiki, 250 kB on NUS-WIDE
Stamp = tuple[int, int]  # time and size of a file: changes whenever the file does
T = TypeVar("T")


@dataclass(frozen=True)
class Damaged:
    """A file of the folder that is no run, or no longer one."""

    id: str
    problem: str
    bytes: int
    older: bool = False  # there is nothing wrong with it but the version that made it


@dataclass(frozen=True)
class Listing:
    """All that is in the folder, the newest run first."""

    runs: tuple[RunRecord, ...]
    damaged: tuple[Damaged, ...]

    @property
    def bytes(self) -> int:
        return sum(run.bytes for run in self.runs) + sum(file.bytes for file in self.damaged)


class RunStore:
    """Any number of them, in any number of programs, may work on one folder: a file is whole or not there."""

    def __init__(self, folder: Path | None = None, gigabytes: float | None = None, maker: str = "") -> None:
        self.maker = maker  # of what is saved here; "" for nobody in particular
        self.folder = cache_folder() / "runs" if folder is None else folder
        self.limit = (limit_from_environment() if gigabytes is None else gigabytes) * GIGABYTE
        self._troubles: dict[str, str] = {}  # why what was made last was not kept; of all copies
        self._records: dict[str, tuple[Stamp, RunRecord | Damaged]] = {}  # by id
        self._scores: Memory[tuple[str, Stamp | None, Search], Scores] = Memory(REMEMBERED_SCORES)

    def by(self, maker: str) -> "RunStore":
        """The same store, for what this one makes."""
        other = copy(self)
        other.maker = maker
        return other

    def find(self, key: RunKey) -> RunRecord | None:
        """The run that this key decides; None where it is not there, is damaged, or is private."""
        nothing_kept = not any(self.folder.glob("*.npz"))  # then nobody need know the id, which takes a while
        return None if key.owner or nothing_kept else self.get(key.id)

    def get(self, id: str) -> RunRecord | None:
        """The run of this id; None where it is not there or is damaged."""
        found = self._look(id)
        return found if isinstance(found, RunRecord) else None

    def save(self, run: Run, timing: Timing) -> RunRecord:
        """Write the run; in place of one of the same id, which says the same."""
        if run.key.owner or run.source.name == "own":
            raise InputError("What was trained on own data belongs to its visitor and is not kept on disk.")
        self.check_room()
        model = hasher_arrays(run.hasher)
        scores = [run.scores(*search) for search in ready_searches(run.hasher.directions)]
        arrays = {HEADER: write_header(run, scores, timing, list(model), self.maker), **model}
        for number, one in enumerate(scores):
            arrays |= scores_arrays(number, one)
        self._write(self._path(run.key.id), lambda path: write_npz(path, arrays, level=1))
        saved = self.get(run.key.id)
        if saved is None:  # deleted at once by somebody, or the disk lies
            raise InputError("The run was written and cannot be read again; look at the disk.")
        return saved

    @property
    def trouble(self) -> str:
        """Why what was made last could not be kept; "" where it was, or where there is room again."""
        if FULL in self._troubles:
            with suppress(InputError):
                self.check_room()
        return self._troubles.get(FULL) or self._troubles.get(UNWRITABLE, "")

    def listing(self) -> Listing:
        """All runs and all that is damaged; only headers are read, and only of what has changed."""
        found = [self._look(name) for name in self._ids()]
        runs = sorted((r for r in found if isinstance(r, RunRecord)), key=lambda r: (r.when, r.id))
        return Listing(tuple(reversed(runs)), tuple(d for d in found if isinstance(d, Damaged)))

    def records(self) -> list[RunRecord]:
        """All runs, the newest first."""
        return list(self.listing().runs)

    def scores(
        self,
        record: RunRecord,
        data: MultimodalDataset,
        split: Split,
        source: str,
        target: str,
        protocol: str,
    ) -> Scores:
        """The scores of one search of the run: remembered, from its file, or ranked now on its data."""
        search = (source, target, protocol)

        def find() -> Scores:
            if search not in record.searches:
                return evaluate(self.hasher(record), data, split, *search)
            names = array_names(list(record.searches).index(search))
            arrays = read_npz(self._path(record.id), names)
            return read_scores(record.searches[search], [arrays[name] for name in names], record.method.bits)

        key = (record.id, self._stamp(record.id), search)
        return self._scores.get(key, lambda: self._read(record.id, find))

    def hasher(self, record: RunRecord) -> FittedHasher:
        """The model of the run."""
        path = self._path(record.id)
        return self._read(record.id, lambda: hasher_of(read_npz(path, record.model_arrays), path.name))

    def ceiling(self, key: CeilingKey) -> Ceiling | None:
        """What the features of this data allow; None where it was not measured, or is private."""
        return None if key.owner else read_ceiling(self._ceiling_path(key))

    def save_ceiling(self, key: CeilingKey, ceiling: Ceiling) -> None:
        """Keep it for all who compare on this data."""
        self._write(self._ceiling_path(key), lambda path: write_ceiling(path, ceiling))

    def _ceiling_path(self, key: CeilingKey) -> Path:
        return self.folder / "ceilings" / f"{key.id}.json"

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
            try:
                beside.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"The title cannot be taken away: {error.strerror or error}.") from error

    def delete(self, id: str) -> None:
        """Remove the run and its title; nothing happens where it is gone already."""
        path = self._path(id)
        try:
            path.unlink(missing_ok=True)
            path.with_suffix(".title").unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"The run cannot be deleted: {error.strerror or error}.") from error

    def check_room(self) -> None:
        """Refuse where the folder is full; before, clear what killed writers left behind."""
        clear_left_over(self.folder)
        used = 0
        for entry in self._entries():
            with suppress(OSError):  # gone meanwhile
                used += entry.stat().st_size
        if used < self.limit:
            self._troubles.pop(FULL, None)
            return
        self._troubles[FULL] = (
            f"The kept runs take {used / GIGABYTE:.2f} GB, and {self.limit / GIGABYTE:g} GB are allowed: "
            "delete some on the Runs page, or set SMFH_RUNS_GB to more."
        )
        raise InputError(self._troubles[FULL])

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

    def _stamp(self, id: str) -> Stamp | None:
        """Time and size of the run's file; None where there is none."""
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
        known = self._records.get(id)
        if known is None or known[0] != stamp:
            known = self._records[id] = stamp, self._read_header(id, stamp[1])
        found = known[1]
        return replace(found, title=self._title(id)) if isinstance(found, RunRecord) else found

    def _read_header(self, id: str, size: int) -> RunRecord | Damaged:
        try:
            return read_header(id, read_npz(self._path(id), [HEADER])[HEADER].tobytes(), size)
        except InputError as error:
            return Damaged(id, " ".join(error.problems), size, isinstance(error, OlderVersionError))

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
        except Exception as error:  # whatever a forged file makes its readers raise
            known = isinstance(error, InputError)
            problem = str(error) if known else f"It holds no run: {type(error).__name__} at {error}."
            if stamp is not None and stamp == self._stamp(id):
                self._records[id] = stamp, Damaged(id, problem, stamp[1])
            raise InputError(problem) from error

    def _write(self, path: Path, write: Callable[[Path], None]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
            self._troubles.pop(UNWRITABLE, None)
        except OSError as error:
            self._troubles[UNWRITABLE] = (
                f"The folder of runs cannot be written: {error.strerror or error}. "
                "Make room, or name another folder with SMFH_CACHE."
            )
            raise InputError(self._troubles[UNWRITABLE]) from error


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
