"""Tables 1 and 2: published beside measured, from trainings that are kept."""

import json

import numpy as np
import pytest

from smfh.__main__ import main
from smfh.comparison import Grid, View
from smfh.datasets import DATASETS
from smfh.export import score_rows
from smfh.hashing import METHODS
from smfh.paper import (
    BENCHMARKS,
    COLUMNS,
    PARTS,
    TABLE_1,
    TASKS,
    TIMES,
    as_rows,
    as_text,
    in_words,
    measure_table,
    published_cells,
    published_score,
    published_seconds,
    runnable,
    table_cells,
)
from smfh.runs import RunStore
from smfh.types import InputError, Split

RIVALS = ["cvh", "pdh", "cmfh", "smh", "smfh"]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture(scope="module")
def wiki_store(wiki_folder, tmp_path_factory):
    return RunStore(tmp_path_factory.mktemp("runs"))


def measure(dataset, methods, seeds, store):
    """The cells, and how many trainings were made for them."""
    progress = []
    cells = measure_table(dataset, methods, seeds, store, on_progress=progress.append)
    return cells, progress[-1].trained


def test_the_published_tables_are_complete():
    for dataset in TABLE_1.values():
        assert dataset.keys() == TASKS.keys()
        for rows in dataset.values():
            assert list(rows) == RIVALS
            assert {len(row) for row in rows.values()} == {len(COLUMNS)}
    for dataset in BENCHMARKS:
        assert all(published_seconds(dataset, method, bits) for method in RIVALS for bits in TIMES)


def test_a_published_number_is_found_by_what_it_is_of():
    assert published_score("wiki", "text->image", "smfh", "map", 64) == 0.6602
    assert published_score("nus-wide", "image->text", "smh", "p_at_100", 64) == 0.6039
    assert published_score("wiki", "text->image", "smfh", "p_at_100", 128) is None
    assert published_score("wiki", "text->image", "smfh-plus", "map", 64) is None
    assert published_score("pascal", "text->image", "smfh", "map", 64) is None
    assert published_seconds("pascal", "pdh", 64) == 350.73
    assert published_seconds("wiki", "pdh", 128) is None
    assert published_seconds("emoji", "pdh", 32) is None


def test_what_cannot_be_run_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    for dataset in BENCHMARKS:
        assert runnable(dataset)
    assert "no loader" in runnable("imagenet")[0]


def test_before_anything_is_measured_the_published_cells_stand_alone():
    cells = published_cells("nus-wide", ["smfh", "smfh-plus"])
    assert len(cells) == 2 * (len(TASKS) * len(COLUMNS) + len(TIMES))
    assert {cell.mean for cell in cells} == {None}
    assert {(cell.difference, cell.agrees, cell.reason) for cell in cells} == {(None, None, "")}
    assert in_words(cells) == "None of the 10 published cells is measured yet."
    assert in_words(published_cells("emoji", ["smfh"])) == ""
    assert "0.546" in as_text(cells)


def test_what_was_measured_once_is_not_trained_again(store):
    cells, trained = measure("planted", ["cvh"], 2, store)
    assert trained == 6
    assert measure("planted", ["cvh"], 2, store) == (cells, 0)
    assert {cell.seeds for cell in cells} == {2}
    assert all(0 <= cell.mean <= 1 for cell in cells if cell.measure != "seconds")


def test_cells_with_some_of_their_seeds_say_how_many(store):
    measure("planted", ["cvh"], 1, store)
    grid = Grid(PARTS["table-1"].plan("planted", ["cvh", "smh"], 3), *DATASETS["planted"]().load())
    cells = table_cells("planted", grid, store)
    assert {(cell.method, cell.seeds) for cell in cells} == {("cvh", 1), ("smh", 0)}
    assert {cell.mean for cell in cells if cell.method == "smh"} == {None}


def test_the_paper_and_the_comparison_print_the_same_deviation_for_the_same_runs(store):
    cells, _ = measure("planted", ["smfh"], 3, store)
    grid = Grid(PARTS["table-1"].plan("planted", ["smfh"], 3), *DATASETS["planted"]().load())
    compared = score_rows(grid, store, View("text", "image"))
    rows = {row["direction"].replace(" → ", "->"): row for row in compared if row["measure"] == "mAP@100"}
    printed = [cell for cell in cells if cell.measure == "map"]
    assert len(printed) == len(TASKS) * len(grid.comparison.bits)
    for cell in printed:
        assert rows[cell.direction][f"{cell.bits} bits"] == f"{cell.mean:.3f} ± {cell.std:.3f}"
        assert f"{cell.mean:.3f} ± {cell.std:.3f}" in as_text(cells)
    scores = [record.headline("text", "image")["found"] for record in grid.found(store).values()]
    assert max(cell.std for cell in printed) > 0
    assert printed[0].std == pytest.approx(np.std(scores[:: len(grid.comparison.bits)], ddof=1))


def test_a_single_seed_has_no_deviation_to_print(store):
    cells, _ = measure("planted", ["cvh"], 1, store)
    assert "±" not in as_text(cells)


def test_the_command_gives_the_same_numbers_from_the_store_and_without_it(store, capsys, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(store.folder.parent))
    order = ["paper", "--datasets", "planted", "--methods", "cvh", "--seeds", "1", "--json"]
    assert main([*order, "--fresh"]) == 0
    fresh = json.loads(capsys.readouterr().out)
    assert not store.folder.exists()
    assert main(order) == 0
    kept = json.loads(capsys.readouterr().out)
    assert len(store.records()) == 3
    cells, trained = measure("planted", ["cvh"], 1, store)
    assert trained == 0
    assert as_rows(cells) == kept
    assert [row for row in fresh if row["measure"] != "seconds"] == [
        row for row in kept if row["measure"] != "seconds"
    ]


def test_the_command_lists_all_that_is_wrong(capsys):
    assert main(["paper", "--datasets", "imagenet", "--methods", "md5", "--seeds", "0"]) == 2
    told = capsys.readouterr().err
    assert all(part in told for part in ("--seeds", "'md5'", "'imagenet'"))


def test_what_no_method_can_learn_from_is_told(store, monkeypatch):
    data, _ = DATASETS["planted"]().load()
    one = data.take(np.flatnonzero(data.labels.argmax(axis=1) == 0))

    class OneClass(DATASETS["planted"]):
        def load(self, *_, **__):
            half = len(one) // 2
            return one, Split(np.arange(half), np.arange(half, len(one)))

    monkeypatch.setitem(DATASETS, "planted", OneClass)
    with pytest.raises(InputError, match="CVH, 32 bits, seed 0: All training items have the same"):
        measure("planted", ["cvh"], 1, store)


@pytest.mark.slow
def test_wiki_is_measured_beside_published(wiki_store):
    cells, trained = measure("wiki", ["smfh"], 2, wiki_store)
    assert trained == 6
    scores = [cell for cell in cells if cell.measure != "seconds"]
    assert len(scores) == len(TASKS) * len(COLUMNS)
    times = [cell for cell in cells if cell.measure == "seconds"]
    assert [(cell.bits, cell.published) for cell in times] == [(32, 0.56), (64, 0.71)]
    for cell in scores:
        column = COLUMNS.index((cell.measure, cell.bits))
        assert cell.published == TABLE_1["wiki"][cell.direction]["smfh"][column]
        assert abs(cell.difference) < 0.06
        assert 0 < cell.std < 0.06
        assert bool(cell.reason) == (abs(cell.difference) > 0.03)
    assert "0.604" in as_text(cells)
    assert METHODS["smfh"].title in as_text(cells)
    close = sum(cell.agrees for cell in scores)
    assert in_words(cells) == f"{close} of 10 measured cells lie within 0.03 of the published number."


@pytest.mark.slow
def test_a_method_that_the_paper_does_not_know_has_no_published_cell(wiki_store):
    cells, _ = measure("wiki", ["smfh-plus"], 1, wiki_store)
    assert {cell.published for cell in cells} == {None}
    assert "published" not in as_text(cells)


@pytest.mark.slow
def test_the_order_of_the_table_and_each_rival_near_its_row(wiki_store):
    methods = ["smfh-plus", "smfh", "cmfh", "smh", "cvh", "pdh"]
    cells = {
        (cell.direction, cell.method, cell.measure, cell.bits): cell
        for cell in measure("wiki", methods, 1, wiki_store)[0]
        if cell.measure != "seconds"
    }
    at_64 = [cells["text->image", method, "map", 64].mean for method in methods]
    assert at_64[:4] == sorted(at_64[:4], reverse=True)
    assert at_64[3] > max(at_64[4:])
    for cell in cells.values():
        if cell.method in ("cmfh", "smh", "cvh"):
            assert cell.difference > -0.03
