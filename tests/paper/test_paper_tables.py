"""Tables 1 and 2: published and measured cells, as text and LaTeX; and the texts about the paper."""

from dataclasses import replace

import pytest

from smfh.datasets import DATASETS
from smfh.experiments.comparison import Grid
from smfh.paper import (
    COLUMNS,
    MEASURED_SEEDS,
    PARTS,
    TABLE_1,
    TABLE_2_BITS,
    TASKS,
    as_latex,
    as_text,
    published_cells,
    published_score,
    published_seconds,
    summarise_agreement,
    table_cells,
    train_comparison,
    with_shipped,
)


def measure(dataset, methods, seeds, store):
    """The cells, and the number of runs trained for them."""
    progress, plan = [], PARTS["table-1"].plan(dataset, methods, seeds)
    grid = train_comparison(plan, store, on_progress=progress.append)
    return table_cells(dataset, grid, store), progress[-1].trained


def test_published_numbers_are_found_by_their_cell():
    assert published_score("wiki", "text->image", "smfh", "map", 64) == 0.6602
    assert published_score("nus-wide", "image->text", "smh", "p_at_100", 64) == 0.6039
    assert published_score("wiki", "text->image", "smfh-plus", "map", 64) is None
    assert published_seconds("pascal", "pdh", 64) == 350.73
    assert published_seconds("emoji", "pdh", 32) is None


def test_published_cells_need_no_runs():
    cells = published_cells("nus-wide", ["smfh", "smfh-plus"])
    assert len(cells) == 2 * (len(TASKS) * len(COLUMNS) + len(TABLE_2_BITS))
    assert {(cell.mean, cell.difference, cell.agrees, cell.reason) for cell in cells} == {(None, None, None, "")}
    assert summarise_agreement(cells) == "None of the 10 published scores has been measured yet."
    assert summarise_agreement(published_cells("emoji", ["smfh"])) == ""
    assert "0.546" in as_text(cells)


def test_saved_runs_are_not_trained_again_and_partial_cells_count_their_seeds(store):
    cells, trained = measure("planted", ["cvh"], 1, store)
    assert trained == 3
    assert measure("planted", ["cvh"], 1, store) == (cells, 0)
    assert "±" not in as_text(cells)  # a single seed has no deviation
    grid = Grid(PARTS["table-1"].plan("planted", ["cvh", "smh"], 3), *DATASETS["planted"]().load())
    partial = table_cells("planted", grid, store)
    assert {(cell.method, cell.seeds) for cell in partial} == {("cvh", 1), ("smh", 0)}
    assert {cell.mean for cell in partial if cell.method == "smh"} == {None}


@pytest.mark.slow
@pytest.mark.usefixtures("wiki_folder")
def test_wiki_agrees_with_the_paper(store):
    cells, _ = measure("wiki", ["smfh"], 2, store)
    times = [cell for cell in cells if cell.measure == "seconds"]
    assert [(cell.bits, cell.published) for cell in times] == [(32, 0.56), (64, 0.71)]
    scores = [cell for cell in cells if cell.measure != "seconds"]
    for cell in scores:
        column = COLUMNS.index((cell.measure, cell.bits))
        assert cell.published == TABLE_1["wiki"][cell.direction]["smfh"][column]
        assert abs(cell.difference) < 0.06
        assert 0 < cell.std < 0.06
        assert bool(cell.reason) == (abs(cell.difference) > 0.03)
    assert "0.604" in as_text(cells)
    close = sum(cell.agrees for cell in scores)
    assert summarise_agreement(cells) == f"{close} of 10 measured scores are within 0.03 of the paper."


def test_latex_has_one_row_per_method_with_both_numbers():
    table = as_latex(published_cells("wiki", ["smfh", "smfh-plus"]), "100 % Wiki & more")
    assert r"100 \% Wiki \& more" in table
    rows = [line for line in table.splitlines() if line.startswith("Task ")][1:]
    assert len(rows) == 4
    assert {row.count(" & ") for row in rows} == {6}
    assert rows[0].startswith("Task 1 & SMFH & -- (0.604) & -- (0.660)")
    assert rows[1] == r"Task 1 & SMFH+ & -- & -- & -- & -- & -- \\"


def test_shipped_scores_fill_what_was_not_measured_here():
    cells = with_shipped(published_cells("wiki", ["smfh", "pdh"]))
    scores = [cell for cell in cells if cell.measure != "seconds"]
    assert all(cell.is_shipped and cell.seeds == MEASURED_SEEDS for cell in scores)
    assert all(cell.agrees is not None for cell in scores)
    assert all(cell.mean is None for cell in cells if cell.measure == "seconds")
    measured = [replace(scores[0], mean=0.5, is_shipped=False)]
    assert with_shipped(measured) == measured
