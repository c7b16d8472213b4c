"""Every number in a lesson is computed from its runs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets import Planted
from smfh.experiments.comparison import Grid, train_grid
from smfh.lessons.lesson_runs import GALLERY_ITEMS, IMAGE_QUERIES, LessonRuns, WorkedLesson, read_lesson_runs
from smfh.lessons.lessons import LESSONS, choose_on_half, class_bit_agreement, sort_ties_by_class
from smfh.runs import RunStore
from smfh.types import InputError

SMALL = Planted(items=1_000, noise=1.0)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> dict[str, LessonRuns]:
    """The runs of every lesson, on a small data set with noisy features."""
    store, loaded, found = RunStore(tmp_path_factory.mktemp("runs")), SMALL.load(), {}
    for name, lesson in LESSONS.items():
        grid = Grid(replace(lesson.runs, source=SMALL), *loaded)
        assert not train_grid(grid, store)
        found[name] = read_lesson_runs(grid, store)
    return found


@pytest.fixture(scope="module")
def worked(measured) -> dict[str, WorkedLesson]:
    return {name: lesson.answer(measured[name]) for name, lesson in LESSONS.items()}


def test_a_lesson_without_its_runs_is_rejected(tmp_path):
    grid = Grid(replace(LESSONS["two-truths"].runs, source=SMALL), *SMALL.load())
    with pytest.raises(InputError, match="9 of 9"):
        read_lesson_runs(grid, RunStore(tmp_path))


@pytest.mark.parametrize("name", LESSONS)
def test_every_stop_has_numbers_notes_and_galleries(worked, measured, name):
    lesson, rows = worked[name], set(measured[name].split.train.tolist())
    stops = len(lesson.stops)
    assert stops > 1
    assert len(set(lesson.stops)) == stops == len(lesson.notes)
    assert lesson.series
    for series in lesson.series:
        assert len(series.values) == stops
        assert np.isfinite(series.values).all()
    for walls in lesson.galleries.values():
        assert len(walls) == stops
        for wall in (wall for at in walls for wall in at):
            assert len(wall.rows) == len(wall.relevant) <= GALLERY_ITEMS
            assert set(wall.rows) <= rows


@pytest.mark.parametrize("name", LESSONS)
def test_no_number_of_an_answer_is_written_by_hand(worked, measured, name):
    """Other scores must change every number with three decimals."""
    fewer = replace(measured[name], runs=tuple(replace_scores(run) for run in measured[name].runs))
    there, now = (set(re.findall(r"0\.\d{3}", told.answer)) for told in (worked[name], LESSONS[name].answer(fewer)))
    assert there
    assert not there & now - {"0.000"}


def replace_scores(run):
    """Divide every average precision of the run by three, and give every item the code of the next."""
    codes = {name: np.roll(own, 1, axis=0) for name, own in run.hasher.database_codes.items()}
    scores = {}
    for way, one in run.scores.items():
        thirds = {
            key: replace(ap, by_query=ap.by_query / 3, tie_aware=ap.tie_aware / 3, best=ap.best / 3, worst=ap.worst / 3)
            for key, ap in one.average_precision.items()
        }
        scores[way] = replace(one, average_precision=thirds)
    return replace(run, hasher=replace(run.hasher, database_codes=codes), scores=scores)


@pytest.mark.parametrize("name", LESSONS)
def test_the_truth_of_a_prediction_is_measured(worked, name):
    """If values rise along the stops, the answer to a question about the best stop is the last one."""
    prediction = LESSONS[name].predict(worked[name])
    assert 0 <= prediction.truth < len(prediction.options) == len(set(prediction.options))
    assert prediction.verdict(prediction.truth).startswith("Correct")
    assert prediction.verdict((prediction.truth + 1) % len(prediction.options)).startswith("Not correct here")
    assert prediction.options[prediction.truth] in prediction.verdict(-1)
    if prediction.options == worked[name].stops:
        rising = tuple(range(len(prediction.options)))
        series = tuple(replace(one, values=rising) for one in worked[name].series)
        assert LESSONS[name].predict(replace(worked[name], series=series)).truth == rising[-1]


def test_a_gallery_shows_the_nearest_items(worked, measured):
    """Compare with counting the bits of every training item."""
    lesson, facts = worked["two-truths"], measured["two-truths"]
    data, train = facts.data, facts.split.train
    caption, walls = next(iter(lesson.galleries.items()))
    asked = facts.queries[caption]
    for run, (by_words, _) in zip(facts.runs, walls, strict=True):
        code = run.hasher.encode("text", data.modalities["text"][[asked]])[0]
        away = [bin(int(word) ^ int(code[0])).count("1") for (word,) in run.hasher.database_codes["image"]]
        order = sorted(range(len(train)), key=lambda place: (away[place], place))[:GALLERY_ITEMS]
        assert by_words.rows == tuple(int(train[place]) for place in order)
        assert by_words.relevant == tuple(bool((data.labels[row] & data.labels[asked]).any()) for row in by_words.rows)


def test_a_database_sorted_by_class_scores_between_worst_and_best(measured):
    for run in measured["ties"].runs:
        limits, sorted_scores = (
            run.scores[IMAGE_QUERIES].average_precision["found"],
            sort_ties_by_class(measured["ties"], run),
        )
        assert limits.worst <= sorted_scores.min() <= sorted_scores.max() <= limits.best


def test_seeds_are_compared_one_by_one(worked, measured):
    a, b = (np.array(series.values) for series in worked["seed"].series)
    runs = measured["seed"].runs
    assert sorted([*a, *b]) == sorted(run.map(IMAGE_QUERIES) for run in runs)
    assert f"{abs((a - b).mean()):.3f}" in worked["seed"].answer
    for at, words in enumerate(worked["seed"].notes):
        assert f"better by {abs(a[at] - b[at]):.3f}" in words


def test_choosing_among_many_overstates_the_score():
    rng = np.random.default_rng(0)
    by_query = rng.random((16, 200))  # runs that differ only by chance
    one, many = choose_on_half(by_query, 1), choose_on_half(by_query, 16)
    assert one[0] == pytest.approx(one[1], abs=0.005)
    assert many[0] - many[1] > 0.03
    assert many[1] == pytest.approx(by_query.mean(), abs=0.01)
    better = by_query + np.linspace(0, 1, 16)[:, None]  # a run that is truly better is chosen
    assert choose_on_half(better, 16)[1] > 1.4


def test_agreement_with_the_class_counts_bits(measured):
    facts = measured["directions"]
    run, data, split = facts.runs[0], facts.data, facts.split
    bits = run.hasher.bits
    read = lambda words: np.array([[int(word) >> k & 1 for k in range(bits)] for (word,) in words])  # noqa: E731
    database = read(run.hasher.database_codes["image"])
    usual = {k: database[data.labels[split.train, k]].mean(axis=0) > 0.5 for k in range(data.labels.shape[1])}
    codes = read(run.hasher.encode("text", data.modalities["text"][split.queries]))
    right = [codes[q] == usual[data.labels[row].argmax()] for q, row in enumerate(split.queries)]
    assert class_bit_agreement(facts, run, "text") == pytest.approx(np.mean(right))
