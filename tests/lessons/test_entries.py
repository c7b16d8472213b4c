"""Following the printed equation by hand gives the entry that the method has."""

import re
from itertools import product

import numpy as np
import pytest

from smfh.datasets import DATASETS
from smfh.lessons.entries import Update, explain
from smfh.lessons.example import make_example, usual_rows
from smfh.lessons.iteration import USUAL, Walk, matrices_of, walk

NUMBER = re.compile(r"(?<![\d.}])-?\d[\d.]*(?: \\cdot 10\^\{-?\d+\})?")


@pytest.fixture(scope="module")
def walked() -> Walk:
    data = DATASETS["emoji"]().load()[0]
    return walk(make_example(data, usual_rows(data)), USUAL)


def by_hand(step: str, matrix: str, parts: dict) -> float:
    """Each equation as it is printed, with pencil and paper."""
    match step, matrix:
        case "bases", "basis":
            return parts["u"] * parts["over"] / parts["under"]
        case "codes", "relaxed":
            return parts["y"] * max(sum(parts["over"]), 0) / sum(parts["under"])
        case "scale", "relaxed":
            return parts["y"] / parts["height"]
        case "scale", "basis":
            return parts["u"] * parts["height"]
        case "functions", "function":
            return np.dot(parts["inverse"], parts["target"])
        case _, "rebuilt":
            return np.dot(parts["y"], parts["u"])
        case _, "threshold":
            return sum(parts["y"]) / len(parts["y"])
        case _, "code":
            return float(parts["y"] > parts["threshold"])
        case _, "graph":
            return parts["common"] * parts["first"] * parts["second"]
        case _, "features":
            return parts["x"]
    raise AssertionError((step, matrix))


def every_entry(walked: Walk, iterations=(1, 2, 9)):
    for moment in walked.moments:
        if moment.iteration in iterations:
            for place, matrix in matrices_of(walked.problem, moment.after).items():
                for row, column in product(*map(range, matrix.shape)):
                    yield moment, place, matrix, row, column


def test_the_parts_give_the_very_entry_of_the_method(walked):
    followed = 0
    for moment, place, matrix, row, column in every_entry(walked):
        update = explain(walked, moment, place, row, column)
        assert update.after == matrix[row, column]
        if update.parts:
            followed += 1
            assert by_hand(moment.step, place[0], update.parts) == pytest.approx(
                update.after, rel=1e-9, abs=1e-12
            )
        else:
            assert update.before == update.after, (moment.step, place)
    assert followed > 2000


def printed(update: Update) -> list[float]:
    """The numbers of the printed equation, in their order; a minus between terms belongs to the number."""
    text = update.numbers.replace("- ", "-")
    return [float(n.replace(r" \cdot 10^{", "e").rstrip("}")) for n in NUMBER.findall(text)]


def test_the_printed_numbers_give_the_entry_to_the_printed_precision(walked):
    for moment, place, _, row, column in every_entry(walked, iterations=(3,)):
        update = explain(walked, moment, place, row, column)
        if moment.step == "functions" and place[0] == "function":
            numbers = printed(update)
            products = [a * b for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
            assert sum(products) == pytest.approx(update.after, abs=2e-6 * np.abs(products).sum())
        elif moment.step == "bases" and place[0] == "basis":
            u, over, under = printed(update)
            assert u * over / under == pytest.approx(update.after, rel=2e-4)
        elif moment.step == "codes" and place[0] == "relaxed":
            y, *terms = printed(update)
            found = y * max(sum(terms[:4]), 0) / sum(terms[4:])
            assert found == pytest.approx(update.after, rel=1e-3, abs=1e-4)
        elif place[0] == "rebuilt":
            numbers = printed(update)
            assert np.dot(numbers[::2], numbers[1::2]) == pytest.approx(update.after, rel=2e-4)


def test_a_worked_entry_reads_as_a_person_would_write_it(walked):
    update = explain(walked, walked.at(2, "scale"), ("relaxed", ""), 0, 1)
    y, height = update.parts["y"], update.parts["height"]
    assert update.symbols == r"\frac{y_{ik}}{\max_i y_{ik}}"
    assert update.numbers == rf"\frac{{{y:.5g}}}{{{height:.5g}}}"


def test_an_item_that_was_not_drawn_feels_no_labels(walked):
    moment = walked.at(2, "codes")
    rest = next(i for i in range(9) if i not in moment.before.rows)
    for item, pulled in ((rest, False), (int(moment.before.rows[0]), True)):
        update = explain(walked, moment, ("relaxed", ""), item, 0)
        assert bool(update.parts["over"][2]) == pulled
        assert ("not drawn" in update.words) != pulled
