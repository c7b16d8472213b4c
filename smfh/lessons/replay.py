"""A replay of a complete SMFH run on the built-in data set, with the codes after every iteration.

The replay is shipped with the program. If data or program have changed, it is recorded again. It can
be saved as an animated picture: the map of codes and the results of a query after each iteration.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from smfh.datasets import DatasetSource
from smfh.features.pictures import decode_image
from smfh.files import Array
from smfh.files.archive import read_npz, write_npz
from smfh.folders import app_folder
from smfh.hamming import rank, unpack
from smfh.hashing import SMFH, FittedHasher
from smfh.jobs import Call, here
from smfh.lessons.lesson_runs import DIRECTIONS, GALLERY_ITEMS, Gallery, LessonRuns
from smfh.plots.theme import class_colour
from smfh.retrieval.code_space import CodeMap, principal_directions, sunflower_offsets
from smfh.retrieval.evaluation import evaluate
from smfh.runs import Snapshots, find_or_train
from smfh.runs.run import run_key
from smfh.types import EPS, FloatArray, MultimodalDataset, OnStep, Split, Words

REPLAY_METHOD = SMFH(bits=32)  # starts from random numbers, as published
FILE = app_folder() / "assets" / "results" / "replay.npz"
# of the animation, in pixels and milliseconds
SIZE, MAP_SIDE, MARGIN, PICTURE_SIDE = (800, 460), 400, 20, 72
RESULTS, COLUMNS = 12, 4
FRAME_MILLISECONDS, LAST_MILLISECONDS = 500, 3000
TEXT_COLOUR, QUERY_COLOUR = "#222222", "#D77F0D"


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

    def nearest(self, at: int, caption: str, depth: int) -> tuple[Gallery, list[int]]:
        """Return the items nearest to a query's text, and their distances; ties in database order."""
        order, distances = rank(self.query_code(at, caption)[None], self.database[at], depth)
        rows = self.items.split.train[order[0]].tolist()
        return self.items.gallery(f"“{caption}”", rows, self.items.queries[caption]), distances[0].tolist()

    @cached_property
    def galleries(self) -> Mapping[str, tuple[Gallery, ...]]:
        """The results of each query after each iteration; the queries that improve most come first."""
        found = {
            caption: tuple(self.nearest(at, caption, GALLERY_ITEMS)[0] for at in range(len(self.iterations)))
            for caption in self.items.queries
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

    def animation(self, caption: str) -> bytes:
        """Return an animated WebP file with one frame per iteration, for the text of this query."""
        points = np.concatenate([one.positions for one in self.maps])
        low, span = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
        frames = [self._draw_frame(at, caption, low, span) for at in range(len(self.iterations))]
        file = io.BytesIO()
        times = [FRAME_MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
        frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=times, loop=0, quality=80)
        return file.getvalue()

    def _draw_frame(self, at: int, caption: str, low: FloatArray, span: float) -> Image.Image:
        data, codes = self.items.data, self.maps[at]
        frame = Image.new("RGB", SIZE, "white")
        draw, font = ImageDraw.Draw(frame), ImageFont.load_default(16)
        title = f"Iteration {self.iterations[at]} of {self.iterations[-1]}    mAP@100 {self.scores[at]:.3f}"
        draw.text((MARGIN, 10), title, TEXT_COLOUR, font)
        classes = data.labels[codes.rows].argmax(axis=1).tolist()
        for (across, up), k in zip(((codes.positions - low) / span * MAP_SIDE).tolist(), classes, strict=True):
            x, y = MARGIN + across, SIZE[1] - MARGIN - up
            draw.ellipse((x - 2, y - 2, x + 2, y + 2), class_colour(k))
        found, distances = self.nearest(at, caption, RESULTS)
        left, top = MAP_SIDE + 3 * MARGIN, 70
        title = f"Results for a text: {sum(found.relevant)} of {RESULTS} relevant"
        draw.text((left, 42), title, TEXT_COLOUR, font)
        for number, (row, relevant, distance) in enumerate(zip(found.rows, found.relevant, distances, strict=True)):
            x, y = left + number % COLUMNS * (PICTURE_SIDE + 8), top + number // COLUMNS * (PICTURE_SIDE + 34)
            if data.thumbnails is not None:
                frame.paste(_small_picture(data.thumbnails[row]), (x, y))
            draw.text((x, y + PICTURE_SIDE + 2), f"{distance} bits", TEXT_COLOUR if relevant else "#999999", font)
            if not relevant:
                draw.line((x, y, x + PICTURE_SIDE, y + PICTURE_SIDE), QUERY_COLOUR, 2)
        return frame


@lru_cache(maxsize=1024)
def _small_picture(picture: bytes) -> Image.Image:
    """Return a picture centred on a white square."""
    return ImageOps.pad(Image.fromarray(decode_image(picture)), (PICTURE_SIDE, PICTURE_SIDE), color="white")


def record_replay(
    source: DatasetSource, data: MultimodalDataset, split: Split, on_step: OnStep | None = None, call: Call = here
) -> Replay:
    """Record a replay: train REPLAY_METHOD and evaluate the model after each iteration."""
    recorder, items = Snapshots(), LessonRuns(data, split, ())
    find_or_train(None, source, REPLAY_METHOD, data, split, on_step, snapshots=recorder, call=call)
    hashers = recorder.frames()
    texts = data.modalities["text"][np.array(list(items.queries.values()), dtype=np.int64)]
    return Replay(
        items,
        np.stack([next(iter(hasher.database_codes.values())) for hasher in hashers]),
        np.stack([hasher.encode("text", texts) for hasher in hashers]),
        np.array([hasher.trace[-1].objective for hasher in hashers]),
        np.array(call(score_snapshots, hashers, data.without_looks(), split)),
    )


def score_snapshots(hashers: Sequence[FittedHasher], data: MultimodalDataset, split: Split) -> list[float]:
    """Return mAP@100 of every snapshot, averaged over both directions."""
    return [
        float(np.mean([evaluate(hasher, data, split, *way).mean_average_precision for way in DIRECTIONS]))
        for hasher in hashers
    ]


def write_replay(replay: Replay, file: Path = FILE) -> None:
    """Write a replay to a file, with the key of its run."""
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
    """Return the replay that is shipped with the program if it was recorded from the same run, else None."""
    key = run_key(data, split, REPLAY_METHOD).id
    arrays = read_npz(file) if file.is_file() else {}
    if "key" not in arrays or arrays["key"].tobytes().decode("ascii", "replace") != key:
        return None
    items, steps = LessonRuns(data, split, ()), len(arrays["objective"])
    database = arrays["database"].reshape(steps, len(split.train), -1)
    query_codes = arrays["query_codes"].reshape(steps, len(items.queries), -1)
    return Replay(items, database, query_codes, arrays["objective"], arrays["scores"])
