"""The lessons: every figure in them is measured, on whatever runs they are given."""

import re
from dataclasses import replace

import numpy as np
import pytest

from smfh.comparison import Grid, train_grid
from smfh.datasets import Planted
from smfh.lessons.evidence import PICTURE, SHOWN, TEXT, Evidence, Worked, gather
from smfh.lessons.lessons import LESSONS
from smfh.lessons.meaning import agreement_with_class
from smfh.lessons.measuring import choose_on_half
from smfh.runs import RunStore
from smfh.types import InputError

SMALL = Planted(items=1_000, noise=1.0)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory) -> dict[str, Evidence]:
    """The runs of every lesson, on a small set whose features are noisy."""
    store, loaded, found = RunStore(tmp_path_factory.mktemp("runs")), SMALL.load(), {}
    for name, lesson in LESSONS.items():
        grid = Grid(replace(lesson.runs, source=SMALL), *loaded)
        assert not train_grid(grid, store)
        found[name] = gather(grid, store)
    return found


@pytest.fixture(scope="module")
def worked(evidence) -> dict[str, Worked]:
    return {name: lesson.work_out(evidence[name]) for name, lesson in LESSONS.items()}


def test_without_its_runs_there_is_no_lesson(tmp_path):
    grid = Grid(replace(LESSONS["two-truths"].runs, source=SMALL), *SMALL.load())
    with pytest.raises(InputError, match="9 of 9"):
        gather(grid, RunStore(tmp_path))


@pytest.mark.parametrize("name", LESSONS)
def test_every_stop_has_its_figures_words_and_pictures(worked, evidence, name):
    lesson, rows = worked[name], set(evidence[name].split.train.tolist())
    stops = len(lesson.stops)
    assert stops > 1
    assert len(set(lesson.stops)) == stops == len(lesson.words)
    assert lesson.series
    for series in lesson.series:
        assert len(series.values) == stops
        assert np.isfinite(series.values).all()
    for walls in lesson.walls.values():
        assert len(walls) == stops
        for wall in (wall for at in walls for wall in at):
            assert len(wall.rows) == len(wall.right) <= SHOWN
            assert set(wall.rows) <= rows


@pytest.mark.parametrize("name", LESSONS)
def test_no_figure_of_an_answer_is_typed_in(worked, evidence, name):
    """On other runs it says other figures: three decimals that stay the same were typed in."""
    fewer = replace(evidence[name], runs=tuple(replace_scores(run) for run in evidence[name].runs))
    there, now = (
        set(re.findall(r"0\.\d{3}", told.answer)) for told in (worked[name], LESSONS[name].work_out(fewer))
    )
    assert there
    assert not there & now - {"0.000"}


def replace_scores(run):
    """The same run with every average precision a third of what it was."""
    scores = {}
    for way, one in run.scores.items():
        thirds = {
            key: replace(
                ap, by_query=ap.by_query / 3, tie_aware=ap.tie_aware / 3, best=ap.best / 3, worst=ap.worst / 3
            )
            for key, ap in one.average_precision.items()
        }
        scores[way] = replace(one, average_precision=thirds)
    return replace(run, scores=scores)


def test_two_truths_tells_both_scores_and_the_codes(worked, evidence):
    lesson, runs = worked["two-truths"], evidence["two-truths"].runs
    first, whole, codes = lesson.series
    for at, run in enumerate(runs):
        found = run.scores[PICTURE].average_precision
        assert (first.values[at], whole.values[at]) == (found["found"].mean, found["full"].mean)
        assert codes.values[at] == len({code.tobytes() for code in run.hasher.database_codes["image"]})
        assert f"{found['full'].mean:.3f}" in lesson.words[at]
    assert [float(stop) for stop in lesson.stops] == [run.method.graph_weight for run in runs]
    assert f"α = {lesson.stops[first.best]}" in lesson.answer
    assert f"α = {lesson.stops[whole.best]}" in lesson.answer


def test_a_wall_is_what_the_run_finds(worked, evidence):
    """The nearest training items by counting bits, one by one."""
    lesson, facts = worked["two-truths"], evidence["two-truths"]
    data, train = facts.data, facts.split.train
    caption, walls = next(iter(lesson.walls.items()))
    asked = facts.queries[caption]
    for run, (by_words, _) in zip(facts.runs, walls, strict=True):
        code = run.hasher.encode("text", data.modalities["text"][[asked]])[0]
        away = [bin(int(word) ^ int(code[0])).count("1") for (word,) in run.hasher.database_codes["image"]]
        order = sorted(range(len(train)), key=lambda place: (away[place], place))[:SHOWN]
        assert by_words.rows == tuple(int(train[place]) for place in order)
        assert by_words.right == tuple(
            bool((data.labels[row] & data.labels[asked]).any()) for row in by_words.rows
        )


def test_the_query_whose_answers_change_most_comes_first(worked):
    changes = [
        np.ptp([sum(sum(wall.right) for wall in at) for at in stops])
        for stops in worked["two-truths"].walls.values()
    ]
    assert changes == sorted(changes, reverse=True)


def test_a_look_up_finds_what_is_within_two_bits(worked, evidence):
    for at, run in enumerate(evidence["length"].runs):
        assert worked["length"].series[1].values[at] == run.scores[PICTURE].within.hits[2]


def test_equals_turned_round_are_equals(worked, evidence):
    facts = evidence["ties"]
    for caption, stops in worked["ties"].walls.items():
        for run, (plain, turned) in zip(facts.runs, stops, strict=True):
            everything = len(facts.split.train)
            away = dict(zip(*facts.nearest(run, PICTURE, facts.queries[caption], everything), strict=True))
            assert [away[row] for row in plain.rows] == [away[row] for row in turned.rows]


def test_the_seeds_are_told_pair_by_pair(worked, evidence):
    a, b = (np.array(series.values) for series in worked["seed"].series)
    runs = evidence["seed"].runs
    assert sorted([*a, *b]) == sorted(run.map(PICTURE) for run in runs)
    assert f"{abs((a - b).mean()):.3f}" in worked["seed"].answer
    for at, words in enumerate(worked["seed"].words):
        assert f"better by {abs(a[at] - b[at]):.3f}" in words


def test_the_best_of_one_flatters_nobody_and_the_best_of_many_does():
    rng = np.random.default_rng(0)
    by_query = rng.random((16, 200))  # runs that differ by luck alone
    one, many = choose_on_half(by_query, 1), choose_on_half(by_query, 16)
    assert one[0] == pytest.approx(one[1], abs=0.005)
    assert many[0] - many[1] > 0.03
    assert many[1] == pytest.approx(by_query.mean(), abs=0.01)
    better = by_query + np.linspace(0, 1, 16)[:, None]  # and where one is truly better, it is kept
    assert choose_on_half(better, 16)[1] > 1.4


def test_agreement_with_the_class_counts_bits(evidence):
    facts = evidence["directions"]
    run, data, split = facts.runs[0], facts.data, facts.split
    bits = run.hasher.bits
    read = lambda words: np.array([[int(word) >> k & 1 for k in range(bits)] for (word,) in words])  # noqa: E731
    database = read(run.hasher.database_codes["image"])
    usual = {k: database[data.labels[split.train, k]].mean(axis=0) > 0.5 for k in range(data.labels.shape[1])}
    codes = read(run.hasher.encode("text", data.modalities["text"][split.queries]))
    right = [codes[q] == usual[data.labels[row].argmax()] for q, row in enumerate(split.queries)]
    assert agreement_with_class(facts, run, "text") == pytest.approx(np.mean(right))


def test_one_bit_is_of_two_seeds_of_one_setting(worked, evidence):
    assert "seed 0" in worked["bit"].words[0]
    assert "seed 1" in worked["bit"].words[0]
    assert all(all(wall.right) for stops in worked["bit"].walls.values() for at in stops for wall in at)
    assert len(worked["bit"].stops) == evidence["bit"].runs[0].hasher.bits


def test_both_directions_are_told_for_every_class(worked, evidence):
    facts, lesson = evidence["directions"], worked["directions"]
    members = facts.data.labels[facts.split.queries, facts.data.class_names.index(lesson.stops[0])]
    for way, series in zip((TEXT, PICTURE), lesson.series, strict=True):
        by_query = facts.runs[0].scores[way].average_precision["found"].by_query
        assert series.values[0] == pytest.approx(by_query[members].mean())
