"""A question before each lesson: its possible answers, and which of them the measurements show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from smfh.lessons.lesson_runs import WorkedLesson

DIFFERENCES = (0.01, 0.05, 0.1)  # limits between the offered sizes of a difference
SIZES = ("less than 0.01", "0.01 to 0.05", "0.05 to 0.1", "more than 0.1")


@dataclass(frozen=True)
class Prediction:
    """A question with possible answers."""

    question: str
    options: tuple[str, ...]
    truth: int  # index of the measured answer

    def verdict(self, guess: int) -> str:
        """Return in words whether the guess agrees with the measurements."""
        measured = self.options[self.truth]
        if not 0 <= guess < len(self.options):
            return f"{self.question} Measured: {measured}."
        agrees = "Correct" if guess == self.truth else "Not so here"
        return f"{agrees}. {self.question} You predicted: {self.options[guess]}. Measured: {measured}."


def _best_stop(question: str, values: Sequence[float], worked: WorkedLesson) -> Prediction:
    return Prediction(question, worked.stops, int(np.argmax(values)))


def _size(question: str, difference: float) -> Prediction:
    return Prediction(question, SIZES, int(np.searchsorted(DIFFERENCES, difference, side="right")))


def _sample(worked: WorkedLesson) -> Prediction:
    by_text, by_image = (np.array(series.values) for series in worked.series[:2])
    return _best_stop("With which sample size m is mAP@100 highest?", (by_text + by_image).tolist(), worked)


def _seed(worked: WorkedLesson) -> Prediction:
    a, b = (np.array(series.values) for series in worked.series)
    wins = int(np.count_nonzero(np.sign(a - b) != np.sign((a - b).mean())))
    options = tuple(str(count) for count in range(len(a) // 2 + 1))
    better, worse = worked.series if (a - b).mean() >= 0 else worked.series[::-1]
    question = f"On average {better.name} beats {worse.name}. With how many of {len(a)} seeds is it the reverse?"
    return Prediction(question, options, min(wins, len(options) - 1))


def _directions(worked: WorkedLesson) -> Prediction:
    by_text, by_image = (np.array(series.values) for series in worked.series)
    wins, classes = int(np.count_nonzero(by_text > by_image)), len(by_text)
    options = ("none", "at most half of them", "more than half", "all")
    truth = 0 if wins == 0 else 3 if wins == classes else 1 if wins <= classes / 2 else 2
    return Prediction("For how many classes do text queries find more than picture queries?", options, truth)


def _bit(worked: WorkedLesson) -> Prediction:
    mean = float(np.mean(worked.series[0].values))
    options = ("about one", "two or three", "four or more")
    truth = 0 if mean < 1.5 else 1 if mean < 3.5 else 2
    return Prediction("How many classes does a bit follow, on average?", options, truth)


PREDICTIONS: Mapping[str, Callable[[WorkedLesson], Prediction]] = MappingProxyType(
    {
        "two-truths": lambda worked: _best_stop(
            "Image queries: at which α is mAP@100 highest?", worked.series[0].values, worked
        ),
        "sample": _sample,
        "length": lambda worked: _best_stop("With how many bits is mAP@100 highest?", worked.series[0].values, worked),
        "seed": _seed,
        "ties": lambda worked: _size(
            f"With {worked.stops[0]} bits, how far apart are the best and the worst order of ties?",
            worked.series[1].values[0] - worked.series[2].values[0],
        ),
        "directions": _directions,
        "bit": _bit,
        "test-set": lambda worked: _size(
            f"By how much is the score of the best of {worked.stops[-1]} settings overstated?",
            worked.series[0].values[-1] - worked.series[1].values[-1],
        ),
    }
)
