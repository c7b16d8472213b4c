"""Table 1: published beside measured."""

import pytest

from smfh.hashing import METHODS
from smfh.paper import COLUMNS, TABLE_1, TASKS, as_rows, as_text, measure_table, runnable


def test_the_published_table_is_complete():
    for dataset in TABLE_1.values():
        assert dataset.keys() == TASKS.keys()
        for rows in dataset.values():
            assert list(rows) == ["cvh", "pdh", "cmfh", "smh", "smfh"]
            assert {len(row) for row in rows.values()} == {len(COLUMNS)}


def test_what_cannot_be_run_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    for dataset in TABLE_1:
        assert runnable(dataset)


@pytest.mark.usefixtures("wiki_folder")
def test_wiki_is_measured_beside_published():
    seen = []
    cells = measure_table("wiki", ["smfh"], seeds=2, on_run=seen.append)
    assert len(seen) == 6
    scores = [cell for cell in cells if cell.measure != "seconds"]
    assert len(scores) == len(TASKS) * len(COLUMNS)
    assert [cell.bits for cell in cells if cell.measure == "seconds"] == [32, 64]
    for cell in scores:
        column = COLUMNS.index((cell.measure, cell.bits))
        assert cell.published == TABLE_1["wiki"][cell.direction]["smfh"][column]
        assert abs(cell.difference) < 0.06
        assert 0 < cell.std < 0.06
        assert bool(cell.reason) == (abs(cell.difference) > 0.03)
    text = as_text(cells)
    assert "0.604" in text
    assert METHODS["smfh"].title in text
    assert as_rows(cells)[0]["difference"] == cells[0].difference


@pytest.mark.usefixtures("wiki_folder")
def test_a_method_that_the_paper_does_not_know_has_no_published_cell():
    cells = measure_table("wiki", ["smfh-plus"], seeds=1)
    assert {cell.published for cell in cells} == {None}
    assert "published" not in as_text(cells)


@pytest.mark.usefixtures("wiki_folder")
def test_the_order_of_the_table_and_each_rival_near_its_row():
    methods = ["smfh-plus", "smfh", "cmfh", "smh", "cvh", "pdh"]
    cells = {
        (cell.direction, cell.method, cell.measure, cell.bits): cell
        for cell in measure_table("wiki", methods, seeds=3)
        if cell.measure != "seconds"
    }
    at_64 = [cells["text->image", method, "map", 64].mean for method in methods]
    assert at_64[:4] == sorted(at_64[:4], reverse=True)
    assert at_64[3] > max(at_64[4:])
    for cell in cells.values():
        if cell.method in ("cmfh", "smh", "cvh"):
            assert cell.difference > -0.03
