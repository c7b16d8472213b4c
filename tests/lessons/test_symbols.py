"""No symbol without its meaning."""

import re

import pytest

from smfh.datasets import Planted
from smfh.lessons.entries import explain
from smfh.lessons.example import make_example, usual_rows
from smfh.lessons.iteration import ABOUT, USUAL, matrices_of, walk
from smfh.lessons.symbols import SYMBOLS, TOKEN, meanings_in, symbols_in

COMMANDS = r"""\frac \leftarrow \qquad \quad \textstyle \tfrac \sum \begin \end \big \max \cdot"""
INDICES = "ijklaI"  # of rows, columns, bits; of L_a; the identity
OF_A_SAMPLE = {r"\hat{Y}", r"\hat{X}"}  # what a hat means is told with S


def all_equations() -> list[str]:
    data = Planted(items=40).load()[0]
    walked = walk(make_example(data, usual_rows(data)), USUAL)
    found = [about.equation for about in ABOUT.values()]
    for moment in walked.moments[:5]:
        for place in matrices_of(walked.problem, moment.after):
            found.append(explain(walked, moment, place, 0, 0).symbols)
    return [latex.replace("{aligned}", "") for latex in found if latex]


@pytest.mark.parametrize("latex", sorted(set(all_equations())))
def test_every_sign_of_every_equation_has_a_meaning(latex):
    bare = re.sub(r"\\text\{[^}]*\}", " ", latex)
    known = {sign for symbol in symbols_in(latex) for sign in symbol.signs}
    assert set(TOKEN.findall(bare)) - {*COMMANDS.split(), *INDICES} - OF_A_SAMPLE <= known
    assert symbols_in(latex)


def test_each_symbol_stands_in_the_table_once():
    signs = [sign for symbol in SYMBOLS for sign in symbol.signs]
    assert len(signs) == len(set(signs))
    assert len({symbol.latex for symbol in SYMBOLS}) == len(SYMBOLS)


def test_the_meanings_are_of_what_stands_there_alone():
    told = meanings_in(r"\alpha\, Y")
    assert "labels" in told
    assert "relaxed codes" in told
    assert r"\mu" not in told
