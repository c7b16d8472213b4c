"""LaTeX that sets what comes from data, and runs none of it."""

import re

import pytest
from hostile_texts import TEXTS

from smfh.files.latex import escape, latex_table


def test_every_sign_is_set_as_it_is():
    assert escape(r"a_b & {c} \d ~ ^ # $ %") == (
        r"a\_b \& \{c\} \textbackslash{}d \textasciitilde{} \textasciicircum{} \# \$ \%"
    )
    assert escape("<script>\n50% of α → β") == (
        r"\textless{}script\textgreater{} 50\% of $\alpha$ $\rightarrow$ $\beta$"
    )


@pytest.mark.parametrize("text", TEXTS)
def test_no_hostile_text_is_a_command(text):
    made = escape(text)
    assert made.isprintable()
    words = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}", "", made)
    assert not re.search(r"\\[A-Za-z]", words)
    assert not re.search(r"(?<!\\)[&%$#_{}~^]", words)


def test_a_table_has_a_rule_above_each_group_and_as_many_cells_as_columns():
    table = latex_table("100 %", ["Task", "Method", "a_1"], [[["1", "x", "$2$"]], [["2", "y", "--"]]], words=2)
    assert table.splitlines()[2:-2] == [
        r"\caption{100 \%}",
        r"\begin{tabular}{llr}",
        r"\toprule",
        r"Task & Method & a\_1 \\",
        r"\midrule",
        r"1 & x & $2$ \\",
        r"\midrule",
        r"2 & y & -- \\",
        r"\bottomrule",
    ]
