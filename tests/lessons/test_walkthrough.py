"""The walkthrough shows SMFH's own numbers, and the printed equations give these numbers by hand."""

import re
from itertools import pairwise, product

import numpy as np
import pytest

from smfh.hamming import unpack
from smfh.hashing import SMFH
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.symbols import TOKEN, symbols_in
from smfh.lessons.walkthrough import (
    DEFAULT_METHOD,
    STEP_INFO,
    STEP_NAMES,
    TOLERANCE,
    Walkthrough,
    explain_entry,
    walk_through,
)


@pytest.fixture(scope="module")
def example(emoji):
    return make_example(emoji, default_rows(emoji))


@pytest.fixture(scope="module")
def walkthrough(example) -> Walkthrough:
    return walk_through(example, DEFAULT_METHOD)


@pytest.mark.parametrize("changed", [{}, {"graph_sample": 9}, {"graph_sample": 3, "bits": 6, "seed": 4}])
def test_the_walkthrough_equals_the_training_exactly(example, changed):
    method = SMFH(**(DEFAULT_METHOD.get_params() | changed))
    walkthrough, hasher = walk_through(example, method), method.fit(example.data)
    last = walkthrough.steps[-1].after
    for name, function in hasher.functions.items():
        np.testing.assert_array_equal(last.W[name], function.projection)
        np.testing.assert_array_equal(last.U[name], hasher.bases[name])
    np.testing.assert_array_equal(last.thresholds, hasher.functions["text"].thresholds)
    codes = unpack(hasher.database_codes["text"], method.bits)
    np.testing.assert_array_equal(last.matrices["code", ""], codes)
    for step in hasher.trace:
        assert walkthrough.at(step.iteration, "functions").after.terms == pytest.approx(step.terms, rel=1e-12)


def test_steps_follow_each_other(walkthrough):
    steps = walkthrough.steps
    assert [step.name for step in steps] == list(STEP_NAMES) * DEFAULT_METHOD.iterations
    assert all(later.before is step.after for step, later in pairwise(steps))


def test_a_step_changes_only_its_outputs(walkthrough):
    for step in walkthrough.steps[len(STEP_NAMES) :]:
        changed = {name for (name, _), sizes in step.sizes.items() if (sizes > TOLERANCE).any()}
        assert changed <= set(STEP_INFO[step.name].outputs), step.name
        assert changed or step.name == "sample"


def every_entry(walkthrough: Walkthrough, iterations=(1, 2, 9)):
    for step in walkthrough.steps:
        if step.iteration in iterations:
            for key, matrix in step.after.matrices.items():
                for row, column in product(*map(range, matrix.shape)):
                    yield step, key, matrix, row, column


def test_the_expression_of_an_entry_gives_the_entry_of_the_method(walkthrough):
    computed = set()
    for step, key, matrix, row, column in every_entry(walkthrough):
        if code := explain_entry(step, key, row, column).code:
            computed.add((step.name, key, row, column))
            value = float(eval(code))  # noqa: S307, our own numbers
            assert value == pytest.approx(matrix[row, column], rel=1e-9, abs=1e-12)
        else:
            assert step.before.matrices[key][row, column] == matrix[row, column], (step.name, key)
    assert len(computed) > 1000
    updates = {("bases", "basis"), ("codes", "relaxed"), ("scale", "relaxed"), ("functions", "function")}
    assert updates <= {(step, key[0]) for step, key, _, _ in computed}


COMMANDS = r"""\frac \leftarrow \qquad \quad \textstyle \tfrac \sum \begin \end \big \max \cdot"""
INDICES = "ijklaI"  # of rows, columns, bits; of L_a; the identity
OF_A_SAMPLE = {r"\hat{Y}", r"\hat{X}"}  # the hat is explained with S


@pytest.fixture(scope="module")
def equations(walkthrough) -> set[str]:
    """The equations of all steps and entries."""
    found = {info.equation for info in STEP_INFO.values()}
    for step in walkthrough.steps[:5]:
        found |= {explain_entry(step, key, 0, 0).symbols for key in step.after.matrices}
    return {latex.replace("{aligned}", "") for latex in found if latex}


def test_every_symbol_of_every_equation_has_a_meaning(equations):
    for latex in equations:
        bare = re.sub(r"\\text\{[^}]*\}", " ", latex)
        known = {token for symbol in symbols_in(latex) for token in symbol.tokens}
        assert symbols_in(latex)
        assert set(TOKEN.findall(bare)) - {*COMMANDS.split(), *INDICES} - OF_A_SAMPLE <= known, latex
