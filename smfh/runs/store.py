"""Stores of saved runs: files in a folder that several programs may share, or memory for private data."""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from smfh.datasets.user_data import UserDataset
from smfh.files import read_npz
from smfh.files.archive import write_npz
from smfh.files.atomic import remove_leftovers, write_atomically
from smfh.folders import cache_folder, read_number
from smfh.hamming import count_codes
from smfh.hashing import FittedHasher
from smfh.hashing.storage import hasher_of, restore_anchors
from smfh.memory import BoundedCache
from smfh.metrics import Scores
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.retrieval.evaluation import database_codes, evaluate
from smfh.runs import run_file
from smfh.runs.run import ClassifierLevelKey, Run, RunKey, RunRecord, Search, Timing, all_searches, as_search
from smfh.types import InputError, MultimodalDataset, Split

RUN_ID = re.compile(r"[0-9a-f]{64}")
GIGABYTE = 10**9
DEFAULT_GIGABYTES = 5.0
MAX_TITLE_CHARACTERS, MAX_NOTE_CHARACTERS = 80, 500
MAX_MEMORY_RUNS = 500  # the maximum number of runs in one comparison
MAX_CACHED_SCORES = 1000  # 40 kB each on Wiki, 250 kB on NUS-WIDE
FileStamp = tuple[int, int]  # modification time and size
T = TypeVar("T")


class MemoryRuns:
    """A store for runs on private data, in memory: records and scores but no models, limited in size."""

    def __init__(self, max_runs: int = MAX_MEMORY_RUNS) -> None:
        self.max_runs = max_runs
        self._levels: dict[ClassifierLevelKey, ClassifierLevel] = {}
        self._runs: OrderedDict[RunKey, tuple[RunRecord, Mapping[Search, Scores]]] = OrderedDict()

    def find(self, key: RunKey) -> RunRecord | None:
        """Return the run with this key; None if it is not saved."""
        return self._runs[key][0] if key in self._runs else None

    def records(self) -> list[RunRecord]:
        """Return all runs, newest first."""
        return [record for record, _ in reversed(list(self._runs.values()))]

    def scores(self, record: RunRecord, data: MultimodalDataset, split: Split, *search: str) -> Scores:
        """Return the scores of one search of the run, given by source, target, protocol and distance."""
        try:
            return self._runs[record.key][1][as_search(*search)]
        except KeyError as error:
            raise InputError("The run is no longer in memory; train it again.") from error

    def save(self, run: Run, timing: Timing) -> RunRecord:
        """Save the scores of all searches of the run, and return its record."""
        scores = {search: run.scores(*search) for search in all_searches(run.directions)}
        header = run_file.run_header(run, timing, scores.values())
        record = run_file.header_record(run.key.id, header, source=run.source)  # without the uploaded content
        self._runs[run.key] = record, scores
        while len(self._runs) > self.max_runs:
            self._runs.popitem(last=False)
        return record

    def check_space(self) -> None:
        """Do nothing: `save` makes space by dropping old runs."""

    def classifier_level(self, key: ClassifierLevelKey) -> ClassifierLevel | None:
        """Return the saved classifier scores for this data; None if they were not measured."""
        return self._levels.get(key)

    def save_classifier_level(self, key: ClassifierLevelKey, level: ClassifierLevel) -> None:
        """Save the scores of classifiers in place of those on other data: a visitor has only one upload."""
        self._levels = {key: level}


@dataclass(frozen=True)
class DamagedRun:
    """A file in the folder of saved runs that cannot be read."""

    id: str
    problem: str
    bytes: int
    older: bool = False  # not damaged, but saved by an older version of this program


@dataclass(frozen=True)
class Listing:
    """All files in the folder of saved runs: readable runs, newest first, and damaged files."""

    runs: tuple[RunRecord, ...]
    damaged: tuple[DamagedRun, ...]

    @property
    def bytes(self) -> int:
        return sum(run.bytes for run in self.runs) + sum(file.bytes for file in self.damaged)


class RunStore:
    """A store of saved runs on disk, one file for each run.

    A file is written under another name and then renamed, so any number of programs can use one folder. Runs
    that come with the program are read from the folder `shipped`, if they are not saved here; most of them
    have scores but no model.
    """

    def __init__(self, folder: Path | None = None, gigabytes: float | None = None, shipped: Path | None = None) -> None:
        if gigabytes is None:
            gigabytes = read_number("SMFH_RUNS_GB", DEFAULT_GIGABYTES, allow_zero=True)
        self.folder = cache_folder() / "runs" if folder is None else folder
        self.max_bytes = gigabytes * GIGABYTE
        self.shipped = shipped
        self.saved_by = ""
        self._write_problem: list[str] = []  # of the last write; all copies share it and the caches
        self._headers: dict[str, tuple[FileStamp, RunRecord | DamagedRun]] = {}  # by id
        self._scores: BoundedCache[tuple[str, FileStamp | None, Search], Scores] = BoundedCache(MAX_CACHED_SCORES)

    def saving_as(self, name: str) -> "RunStore":
        """Return a copy of this store that records `name` as the owner of the runs it saves."""
        other = copy(self)
        other.saved_by = name
        return other

    def without_shipped(self) -> "RunStore":
        """Return a copy of this store that ignores the runs shipped with the program."""
        other = copy(self)
        other.shipped = None
        return other

    def find(self, key: RunKey) -> RunRecord | None:
        """Return the run with this key; None if it is missing or damaged."""
        return self.get(key.id)

    def get(self, id: str) -> RunRecord | None:
        """Return the run with this id; None if it is missing or damaged."""
        found = self._header(id)
        return found if isinstance(found, RunRecord) else None

    def is_shipped(self, record: RunRecord) -> bool:
        """Whether the run is shipped with the program and was not computed on this machine."""
        return self._path(record.id).parent == self.shipped

    def save(self, run: Run, timing: Timing) -> RunRecord:
        """Write the run to its file, replacing an earlier one, and return its record."""
        if run.source.name == UserDataset.name:
            raise InputError("Runs on uploaded data are private and not saved on disk.")
        self.check_space()
        arrays = run_file.run_arrays(run, timing, self.saved_by)
        self._write(self._own_path(run.key.id), lambda path: write_npz(path, arrays, level=1))
        saved = self.get(run.key.id)
        if saved is None:
            raise InputError("The run was written but cannot be read back; check the disk.")
        return saved

    @property
    def save_problem(self) -> str:
        """The reason why runs cannot be saved now; "" if they can."""
        try:
            self.check_space()
        except InputError as error:
            return str(error)
        return "".join(self._write_problem)

    def listing(self) -> Listing:
        """Return all runs and damaged files; reads only the headers of new or changed files."""
        names = [entry.name for entry in self._entries() if entry.name.endswith(".npz")]
        found = [self._header(name[:-4]) for name in names if RUN_ID.fullmatch(name[:-4])]
        runs = sorted((r for r in found if isinstance(r, RunRecord)), key=lambda r: (r.when, r.id))
        return Listing(tuple(reversed(runs)), tuple(d for d in found if isinstance(d, DamagedRun)))

    def records(self) -> list[RunRecord]:
        """Return the records of all runs in the folder, newest first, without those shipped with the program."""
        return list(self.listing().runs)

    def shipped_records(self) -> list[RunRecord]:
        """Return the records of runs that are shipped with the program and were not computed on this machine."""
        files = sorted(self.shipped.glob("*.npz")) if self.shipped is not None else []
        found = (self.get(file.stem) for file in files if RUN_ID.fullmatch(file.stem))
        return [record for record in found if record is not None and self.is_shipped(record)]

    def scores(self, record: RunRecord, data: MultimodalDataset, split: Split, *search: str) -> Scores:
        """Return the scores of one search of the run: cached, from its file, or computed now."""
        one = as_search(*search)

        def hasher() -> FittedHasher:
            return self.hasher(record, data.take(split.train) if self.is_shipped(record) else None)

        def find() -> Scores:
            saved = record.searches.get(one)
            if saved is None or len(saved["search"]) < len(one):  # the second: an old file
                return evaluate(hasher(), data, split, *one)
            names = run_file.array_names(list(record.searches).index(one))
            arrays = read_npz(self._path(record.id), names)
            scores = run_file.read_scores(saved, [arrays[name] for name in names], record.method.bits)
            if scores.distinct_codes is not None or not record.model_arrays:
                return scores
            codes, _ = database_codes(hasher(), data, split, one[1], one[2])
            return replace(scores, distinct_codes=count_codes(codes))

        key = (record.id, self._stamp(record.id), one)
        return self._scores.get(key, lambda: self._read(record.id, find))

    def hasher(self, record: RunRecord, train: MultimodalDataset | None = None) -> FittedHasher:
        """Return the model of the run, read from its file; a shipped model needs its training items."""
        path = self._path(record.id)
        if not record.model_arrays:
            raise InputError("Only the scores of this run come with the program; train it to get its model.")

        def read() -> FittedHasher:
            arrays = read_npz(path, record.model_arrays)
            return hasher_of(arrays if train is None else restore_anchors(arrays, train), path.name)

        return self._read(record.id, read)

    def classifier_level(self, key: ClassifierLevelKey) -> ClassifierLevel | None:
        """Return the saved classifier scores for this data; None if they were not measured."""
        return run_file.read_level(self.folder / "ceilings" / f"{key.id}.json")

    def save_classifier_level(self, key: ClassifierLevelKey, level: ClassifierLevel) -> None:
        """Save the scores of classifiers on this data for later comparisons."""
        path = self.folder / "ceilings" / f"{key.id}.json"
        self._write(path, lambda path: run_file.write_level(path, level))

    def rename(self, id: str, title: str) -> None:
        """Set the title of the run; an empty title removes the current one."""
        self._save_text(id, "title", title, MAX_TITLE_CHARACTERS)

    def annotate(self, id: str, note: str) -> None:
        """Set the note on the run; an empty note removes the current one."""
        self._save_text(id, "note", note, MAX_NOTE_CHARACTERS)

    def _save_text(self, id: str, kind: str, text: str, max_characters: int) -> None:
        """Write a run's title or note, on one line, to a text file beside the run's file."""
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        if len(text) > max_characters:
            raise InputError(f"A {kind} has at most {max_characters} characters; this one has {len(text)}.")
        path = self._own_path(id).with_suffix(f".{kind}")
        if text:
            self._write(path, lambda path: write_atomically(path, lambda file: file.write(text.encode())))
        else:
            with _input_errors(f"The {kind} cannot be removed"):
                path.unlink(missing_ok=True)

    def _read_text(self, path: Path, kind: str, max_characters: int) -> str:
        """Return the title of the run in this file or the note on it; "" if there is none."""
        with suppress(OSError), path.with_suffix(f".{kind}").open("rb") as file:
            return file.read(4 * max_characters).decode(errors="replace")[:max_characters]
        return ""

    def delete(self, id: str) -> None:
        """Delete the run, its title and the note on it, if they exist."""
        path = self._own_path(id)
        with _input_errors("The run cannot be deleted"):
            for suffix in (".npz", ".title", ".note"):
                path.with_suffix(suffix).unlink(missing_ok=True)

    def check_space(self) -> None:
        """Remove incomplete files of killed programs; raise InputError if the folder is full."""
        remove_leftovers(self.folder)
        used = 0
        for entry in self._entries():
            with suppress(OSError):  # deleted meanwhile
                used += entry.stat().st_size
        if used >= self.max_bytes:
            raise InputError(
                f"Saved runs take {used / GIGABYTE:.2f} GB of the allowed {self.max_bytes / GIGABYTE:g} GB: "
                "delete some on the Runs page, or raise SMFH_RUNS_GB."
            )

    def _path(self, id: str) -> Path:
        """Return the path of a run's file: in the folder if it is there, else among the shipped runs."""
        own = self._own_path(id)
        if self.shipped is not None and not own.exists() and (path := self.shipped / own.name).exists():
            return path
        return own

    def _own_path(self, id: str) -> Path:
        if not RUN_ID.fullmatch(id):
            raise InputError(f"A run id has 64 hexadecimal digits; got {id[:80]!r}.")
        return self.folder / f"{id}.npz"

    def _entries(self) -> list["os.DirEntry[str]"]:
        with _input_errors("The folder of saved runs cannot be read"):
            return list(os.scandir(self.folder)) if self.folder.exists() else []

    def _stamp(self, id: str) -> FileStamp | None:
        """Return modification time and size of the run's file, to detect changes; None if missing."""
        own = self._own_path(id)
        for path in (own, *([self.shipped / own.name] if self.shipped is not None else [])):
            with suppress(OSError):
                about = path.stat()
                return about.st_mtime_ns, about.st_size
        return None

    def _header(self, id: str) -> RunRecord | DamagedRun | None:
        """Return a run's record with title and note, or a DamagedRun; unchanged files are not read again."""
        stamp = self._stamp(id)
        if stamp is None:
            self._headers.pop(id, None)
            return None
        known = self._headers.get(id)
        if known is None or known[0] != stamp:
            found: RunRecord | DamagedRun
            try:
                found = run_file.read_header(
                    id, read_npz(self._path(id), [run_file.HEADER])[run_file.HEADER].tobytes(), stamp[1]
                )
            except InputError as error:
                is_older = isinstance(error, run_file.OlderVersionError)
                found = DamagedRun(id, " ".join(error.problems), stamp[1], is_older)
            known = self._headers[id] = stamp, found
        if isinstance(known[1], DamagedRun):
            return known[1]
        path = self._path(id)
        title = self._read_text(path, "title", MAX_TITLE_CHARACTERS)
        note = self._read_text(path, "note", MAX_NOTE_CHARACTERS)
        return replace(known[1], title=title, note=note) if title or note else known[1]

    def _read(self, id: str, read: Callable[[], T]) -> T:
        """Return the result of `read`; if reading fails, list the run as damaged until its file changes."""
        stamp = self._stamp(id)
        try:
            return read()
        except Exception as error:  # a forged file can raise anything
            is_input_error = isinstance(error, InputError)
            problem = str(error) if is_input_error else f"It is not a run: {type(error).__name__} at {error}."
            if stamp is not None and stamp == self._stamp(id):
                self._headers[id] = stamp, DamagedRun(id, problem, stamp[1])
            raise InputError(problem) from error

    def _write(self, path: Path, write: Callable[[Path], None]) -> None:
        self._write_problem[:] = []
        try:
            with _input_errors("The folder of saved runs cannot be written"):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path)
        except InputError as error:
            self._write_problem[:] = [f"{error} Free some disk space, or set SMFH_CACHE."]
            raise InputError(self._write_problem) from error


SavedRuns = RunStore | MemoryRuns


@contextmanager
def _input_errors(what: str) -> Iterator[None]:
    """Convert errors of the operating system to InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what}: {error.strerror or error}.") from error
