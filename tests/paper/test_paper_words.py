"""What is said of the paper: its errata, its claims, and its tables as LaTeX."""

import re

import pytest

from smfh.paper import ERRATA, NOT_REPRODUCED, TABLE_1, WORDS, as_latex, published_cells, published_seconds


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.where)
def test_an_erratum_says_where_what_and_why_in_latex_that_closes(erratum):
    assert re.match(r"Eq\. \d|Text (before|after) Eq\. \d|Times Complexity", erratum.where)
    assert erratum.printed != erratum.right
    assert erratum.why.endswith(".")
    for formula in (erratum.printed, erratum.right):
        bare = formula.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}")
        assert formula.count(r"\{") == formula.count(r"\}")


def test_what_is_said_of_the_tables_is_in_the_tables():
    said = " ".join([*WORDS, *(why for _, why in NOT_REPRODUCED)])
    task_1, task_2 = TABLE_1["wiki"].values()
    assert "0.9 points before CMFH" in said
    assert round(100 * (task_1["smfh"][0] - task_1["cmfh"][0]), 1) == 0.9
    assert "at 128 bits behind PDH and SMH" in said
    assert task_2["smfh"][2] < min(task_2["pdh"][2], task_2["smh"][2])
    nus = TABLE_1["nus-wide"]["image->text"]
    assert all(nus["smfh"][k] == max(row[k] for row in nus.values()) for k in range(5))
    cmfh, pdh, smfh = (published_seconds("nus-wide", method, 64) for method in ("cmfh", "pdh", "smfh"))
    assert f"{round(cmfh / smfh)} and {round(pdh / smfh)} times slower" in said


def test_the_latex_has_a_row_a_method_and_both_numbers():
    table = as_latex(published_cells("wiki", ["smfh", "smfh-plus"]), "100 % Wiki & more")
    assert r"100 \% Wiki \& more" in table
    rows = [line for line in table.splitlines() if line.startswith("Task ")][1:]
    assert len(rows) == 4
    assert {row.count(" & ") for row in rows} == {6}
    assert rows[0].startswith("Task 1 & SMFH & -- (0.604) & -- (0.660)")
    assert rows[1] == r"Task 1 & SMFH+ & -- & -- & -- & -- & -- \\"
    assert table.count(r"\begin") == table.count(r"\end") == 2
