"""A replay of a complete SMFH run on the built-in data set, with the codes after every iteration.

The replay comes with the program, so that nobody waits for it; on other data or versions it is recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from smfh.datasets import DatasetSource
from smfh.files import Array
from smfh.files.archive import read_npz, write_npz
from smfh.folders import app_folder
from smfh.hamming import rank, unpack
from smfh.hashing import SMFH, FittedHasher
from smfh.jobs import Call, here
from smfh.lessons.lesson_runs import DIRECTIONS, GALLERY_ITEMS, Direction, Gallery, LessonRuns
from smfh.metrics import Scores
from smfh.retrieval.code_space import CodeMap, principal_directions, sunflower_offsets
from smfh.retrieval.evaluation import evaluate
from smfh.runs import Snapshots, find_or_train
from smfh.runs.run import run_key
from smfh.types import EPS, FloatArray, MultimodalDataset, OnStep, Split, Words

REPLAY_METHOD = SMFH(bits=32)  # starts from random numbers, as published
FILE = app_folder() / "assets" / "results" / "replay.npz"


@dataclass(frozen=True, eq=False)
class Replay:
    """The codes, objective and scores of a run after each iteration."""

    items: LessonRuns  # data, split and queries; without runs
    database: Words  # codes of the training items, (iterations, items, words)
    query_codes: Words  # of the texts of `items.queries`, (iterations, queries, words)
    objective: FloatArray  # (iterations,)
    scores: FloatArray  # mAP@100, averaged over both directions, (iterations,)

    @property
    def iterations(self) -> tuple[int, ...]:
        """The numbers of the iterations, counted from 1."""
        return tuple(range(1, len(self.objective) + 1))

    def query_code(self, at: int, caption: str) -> Words:
        """Return the code of a query's text after iteration number `at`, counted from 0."""
        code: Words = self.query_codes[at, list(self.items.queries).index(caption)]
        return code

    def nearest(self, at: int, caption: str, depth: int) -> tuple[list[int], list[int]]:
        """Return rows and distances of the items nearest to a query's text; ties in database order."""
        order, distances = rank(self.query_code(at, caption)[None], self.database[at], depth)
        return self.items.split.train[order[0]].tolist(), distances[0].tolist()

    @cached_property
    def galleries(self) -> Mapping[str, tuple[Gallery, ...]]:
        """The results of each query after each iteration; the queries that improve most come first."""
        found = {
            caption: tuple(
                self.items.gallery("", self.nearest(at, caption, GALLERY_ITEMS)[0], row)
                for at in range(len(self.iterations))
            )
            for caption, row in self.items.queries.items()
        }
        gains = {caption: sum(stops[-1].relevant) - sum(stops[0].relevant) for caption, stops in found.items()}
        return dict(sorted(found.items(), key=lambda query: -gains[query[0]]))

    @cached_property
    def maps(self) -> tuple[CodeMap, ...]:
        """The codes after each iteration on the first two principal directions of the last ones."""
        bits, rows = REPLAY_METHOD.bits, self.items.split.train
        last, counts = np.unique(self.database[-1], axis=0, return_counts=True)
        last_bits = unpack(last, bits)
        middle, V = principal_directions(last_bits, counts)
        width = max(float(np.ptp((last_bits - middle) @ V, axis=0).max()), EPS)
        maps = []
        for codes in self.database:
            different, which = np.unique(codes, axis=0, return_inverse=True)
            centres = (unpack(different, bits) - middle) @ V / width
            positions = centres[which] + sunflower_offsets(which)
            maps.append(CodeMap("PCA", rows, positions, different, centres, len(codes)))
        return tuple(maps)


def record_replay(
    source: DatasetSource, data: MultimodalDataset, split: Split, on_step: OnStep | None = None, call: Call = here
) -> Replay:
    """Train REPLAY_METHOD and evaluate each iteration."""
    recorder, items = Snapshots(), LessonRuns(data, split, ())
    find_or_train(None, source, REPLAY_METHOD, data, split, on_step, snapshots=recorder, call=call)
    hashers = recorder.frames()
    scores = call(score_snapshots, hashers, data.without_looks(), split)
    texts = data.modalities["text"][np.array(list(items.queries.values()), dtype=np.int64)]
    return Replay(
        items,
        np.stack([next(iter(hasher.database_codes.values())) for hasher in hashers]),
        np.stack([hasher.encode("text", texts) for hasher in hashers]),
        np.array([hasher.trace[-1].objective for hasher in hashers]),
        np.array([np.mean([one.mean_average_precision for one in own.values()]) for own in scores]),
    )


def score_snapshots(
    hashers: Sequence[FittedHasher], data: MultimodalDataset, split: Split
) -> list[dict[Direction, Scores]]:
    """Return the scores of every snapshot, by direction."""
    return [{way: evaluate(hasher, data, split, *way) for way in DIRECTIONS} for hasher in hashers]


def write_replay(replay: Replay, file: Path = FILE) -> None:
    """Write a replay with the key of its run."""
    key = run_key(replay.items.data, replay.items.split, REPLAY_METHOD).id
    steps = len(replay.objective)
    arrays: dict[str, Array] = {
        "database": replay.database.reshape(steps, -1),
        "query_codes": replay.query_codes.reshape(steps, -1),
        "objective": replay.objective,
        "scores": replay.scores,
        "key": np.frombuffer(key.encode(), np.uint8),
    }
    write_npz(file, arrays, level=9)


def shipped_replay(data: MultimodalDataset, split: Split, file: Path = FILE) -> Replay | None:
    """Return the replay that comes with the program if it was recorded from the same run, else None."""
    key = run_key(data, split, REPLAY_METHOD).id
    arrays = read_npz(file) if file.is_file() else {}
    if "key" not in arrays or arrays["key"].tobytes().decode("ascii", "replace") != key:
        return None
    items, steps = LessonRuns(data, split, ()), len(arrays["objective"])
    database = arrays["database"].reshape(steps, len(split.train), -1)
    query_codes = arrays["query_codes"].reshape(steps, len(items.queries), -1)
    return Replay(items, database, query_codes, arrays["objective"], arrays["scores"])
