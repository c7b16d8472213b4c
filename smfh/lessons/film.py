"""From noise to order: a whole training of SMFH on the built-in set, looked at after every iteration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.datasets import DatasetSource
from smfh.evaluation import evaluate
from smfh.hamming import unpack
from smfh.hashing import SMFH, FittedHasher
from smfh.jobs import Call, here
from smfh.landscape import CodeMap, principal_directions, sunflower_offsets
from smfh.lessons.evidence import PICTURE, TEXT, Evidence, Seen, Walls, count_right
from smfh.metrics import Scores
from smfh.runs import Film, Run, find_or_train
from smfh.types import EPS, IntArray, MultimodalDataset, OnStep, Split

FILMED = SMFH(bits=32)  # starts from noise, as published


@dataclass(frozen=True, eq=False)
class Reel:
    """The training frame by frame."""

    run: Run
    frames: Evidence  # a run for each
    iterations: tuple[int, ...]  # of the frames
    maps: tuple[CodeMap, ...]  # all on one plane, so that items move and the map does not
    walls: Mapping[str, tuple[Walls, ...]]  # what the words of each query find in each frame; who gains first

    @property
    def scores(self) -> tuple[float, ...]:
        """mAP@100 of each frame, the mean of both directions."""
        return tuple((frame.map(TEXT) + frame.map(PICTURE)) / 2 for frame in self.frames.runs)


def shoot(
    source: DatasetSource,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    call: Call = here,
) -> Reel:
    """Train once more, and keep what would have been answered after each iteration."""
    film = Film()
    run = find_or_train(None, source, FILMED, data, split, on_step, film=film, call=call)
    frames = film.frames()
    scores = call(score_frames, frames, data.without_looks(), split)
    seen = [Seen(one.method, one, own, one.seconds) for one, own in zip(frames, scores, strict=True)]
    evidence = Evidence(data, split, tuple(seen))
    iterations = tuple(frame.trace[-1].iteration for frame in frames)
    walls = evidence.at_every_run(lambda frame, row: evidence.both_ways(frame, row)[:1])
    gains = {caption: count_right(stops[-1]) - count_right(stops[0]) for caption, stops in walls.items()}
    walls = dict(sorted(walls.items(), key=lambda query: -gains[query[0]]))
    return Reel(run, evidence, iterations, map_frames(frames, split.train), walls)


def score_frames(
    frames: Sequence[FittedHasher], data: MultimodalDataset, split: Split
) -> list[dict[tuple[str, str], Scores]]:
    """Both ways, as if the training had been stopped there."""
    return [{way: evaluate(frame, data, split, *way) for way in (TEXT, PICTURE)} for frame in frames]


def map_frames(frames: Sequence[FittedHasher], rows: IntArray) -> tuple[CodeMap, ...]:
    """Every frame's codes on the two principal directions of the last one's, to one scale."""
    packed = [next(iter(frame.database_codes.values())) for frame in frames]
    bits = frames[-1].bits
    last, counts = np.unique(packed[-1], axis=0, return_counts=True)
    last_bits = unpack(last, bits)
    V, middle = principal_directions(last_bits, counts), counts @ last_bits / counts.sum()
    flat = (last_bits - middle) @ V
    width = max(float(np.ptp(flat, axis=0).max()), EPS)
    maps = []
    for codes in packed:
        different, which = np.unique(codes, axis=0, return_inverse=True)
        centres = (unpack(different, bits) - middle) @ V / width
        positions = centres[which] + sunflower_offsets(which)
        maps.append(CodeMap("PCA", rows, positions, different, centres, len(codes)))
    return tuple(maps)
