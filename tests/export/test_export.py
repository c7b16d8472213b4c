"""The comparison to take home: figures from the store alone, tables, one HTML file, the command."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile_texts import TEXTS

from smfh.comparison import Comparison, Grid, View, query_precisions, train_grid
from smfh.datasets import Planted
from smfh.export import (
    compared_pairs,
    csv_rows,
    every_chart,
    html_of,
    latex_of,
    pair_rows,
    score_rows,
    sentences,
    told_directions,
    winners,
)
from smfh.export.document import Section, document
from smfh.hashing import CVH, SMFH
from smfh.metrics import AP_DEFINITIONS
from smfh.plots import csv_of, score_curves
from smfh.plots.published import Published
from smfh.runs import RunStore
from smfh.types import Point

VIEW = View("text", "image", bits=16)
HOSTILE = "<script>alert(1)</script> & 50% of $x_1$ {a}\\b"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two methods, two lengths, two seeds."""
    source, store = Planted(items=120), RunStore(tmp_path_factory.mktemp("runs"))
    comparison = Comparison(source, (SMFH(iterations=5, graph_sample=50), CVH()), (8, 16), 2)
    grid = Grid(comparison, *source.load())
    assert train_grid(grid, store) == {}
    return grid, store


def test_every_figure_says_its_formula_and_draws_both_methods(finished):
    charts = every_chart(*finished, VIEW)
    scores = ["found", "full", "precision"]
    assert list(charts) == [*scores, "at_k", "recall", "radius", "hits", "training", "encoding"]
    for chart in charts.values():
        named = {trace.name for trace in chart.figure().data}
        assert {"SMFH", "CVH"} <= named
        assert chart.formula in chart.figure().layout.xaxis.title.text.replace("&lt;", "<")
    assert [charts[name].formula for name in scores] == [AP_DEFINITIONS[name].formula for name in scores]


@pytest.mark.parametrize("definition", AP_DEFINITIONS)
def test_another_definition_is_another_figure_from_the_same_runs(finished, definition):
    grid, store = finished
    view = replace(VIEW, definition=definition)
    chart = every_chart(grid, store, view)[definition]
    metric = AP_DEFINITIONS[definition]
    assert chart.y.label == metric.label
    AP = query_precisions(grid, store, view)
    assert chart.lines[0].y[-1] == pytest.approx(AP["SMFH"].mean())


def test_the_look_up_is_of_the_chosen_radius(finished):
    shares = [every_chart(*finished, replace(VIEW, radius=r))["hits"].lines[0].y for r in (0, 2, 8)]
    assert np.all(shares[0] <= shares[1])
    assert np.all(shares[1] <= shares[2])
    assert shares[0][1] < shares[2][1]


def test_crosses_stand_only_where_something_was_measured(finished):
    there, elsewhere = (Published("smfh", "SMFH", "text → image", bits, 0.4) for bits in (16, 64))
    lines = every_chart(*finished, VIEW, [there, elsewhere])["found"].lines
    (cross,) = [line for line in lines if "published" in line.name]
    assert list(cross.x) == [16]
    assert not any(
        "published" in line.name for line in every_chart(*finished, VIEW, [elsewhere])["found"].lines
    )


def test_the_test_tells_the_better_one_in_words(finished):
    AP = query_precisions(*finished, VIEW)
    better, other = sorted(AP, key=lambda title: -AP[title].mean())
    pairs = compared_pairs(*finished, VIEW)
    (sentence,) = sentences(pairs, VIEW)
    assert sentence.startswith((f"{better} beats {other} at 16 bits", f"{better} and {other} cannot be told"))
    assert f"text → image: +{AP[better].mean() - AP[other].mean():.3f} (95 % interval" in sentence
    assert "2 seeds" in sentence
    assert pair_rows(pairs)[0]["better"] == better


def test_the_first_by_each_measure_is_told(finished):
    grid, store = finished
    tested = {one.metric.label: compared_pairs(grid, store, one) for one in VIEW.told_together}
    assert list(tested) == ["mAP@100", "mAP (whole ranking)", "P@100"]
    for one in VIEW.told_together:
        means = {title: AP.mean() for title, AP in query_precisions(grid, store, one).items()}
        assert tested[one.metric.label][0].first == max(means, key=means.get)
    (pair,) = tested["mAP@100"]
    assert winners({"a": [pair], "b": [pair]}) == f"{pair.first} is first by a, b."
    other = replace(pair, first=pair.second, second=pair.first)
    assert winners({"a": [pair], "b": [other]}).endswith(f": {pair.first} by a, {pair.second} by b.")
    assert winners({"a": []}) == ""


def test_a_length_that_nobody_has_leaves_the_test_open(finished):
    assert compared_pairs(*finished, replace(VIEW, bits=64)) == []


def test_the_csv_has_every_run_direction_and_protocol(finished):
    rows = csv_rows(*finished, replace(VIEW, definition="capped"))
    assert len(rows) == 2 * 2 * 2 * 2 * 2
    assert {row["definition"] for row in rows} == {AP_DEFINITIONS["capped"].formula}
    assert {(row["from"], row["to"], row["database"]) for row in rows} == {
        (source, target, protocol)
        for source, target in (("text", "image"), ("image", "text"))
        for protocol in ("training", "unseen")
    }
    assert all(row["ties at worst"] <= row["ties averaged"] <= row["ties at best"] for row in rows)
    assert "iterations = 5" in rows[0]["settings"]
    assert csv_of(rows).count("\n") == len(rows) + 1


def test_latex_has_a_table_for_each_direction_and_one_of_times(finished):
    text = latex_of(*finished, VIEW)
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 7
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 7
    assert text.count(r"\mathbf") == 2 * 7
    rows = [line for line in text.splitlines() if line.startswith(("SMFH &", "CVH &"))]
    assert len(rows) == 14
    assert all(re.fullmatch(r"\w+( & \$[^$&]+ \\pm [\d.]+\$){2} \\\\", row) for row in rows)
    assert r"text $\rightarrow$ image" in text
    assert text.isascii()


def test_the_report_is_one_file_that_needs_no_other(finished):
    grid, store = finished
    text = html_of(grid, store, VIEW, "smfh compare planted & more")
    assert text.count("plotly.js v") == 1
    assert text.count('class="plotly-graph-div"') == 9
    without_plotly = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.S)
    assert not re.search(r"(src|href)\s*=", without_plotly)
    for needed in (
        AP_DEFINITIONS["found"].words,
        next(iter(grid.keys.values())).data,
        next(iter(grid.keys.values())).split,
        sentences(compared_pairs(grid, store, VIEW), VIEW)[0],
        "graph_sample = 50",
        "numpy",
        "smfh compare planted &amp; more",
    ):
        assert needed in without_plotly
    assert all(row["method"] in without_plotly for row in score_rows(grid, store, VIEW))


def test_the_report_shows_texts_as_they_are():
    page = document(HOSTILE, [Section(HOSTILE, [HOSTILE], [{HOSTILE: HOSTILE}], HOSTILE)])
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; 50%") == 7  # title, h1, h2, p, th, td, pre


def test_no_hostile_text_becomes_an_element_of_the_report():
    """Tags and attributes are those of the same report about something harmless."""

    def elements(text: str) -> list[tuple[str, list[str]]]:
        found = []
        reader = HTMLParser()
        reader.handle_starttag = lambda tag, attributes: found.append((tag, [name for name, _ in attributes]))
        point = Point("smfh", text, text, 16, (0.4, 0.6), (0.3, 0.7), 0.1)
        charts = {"one": score_curves([point], text, formula=text)}
        sections = [Section(text, [text], [{text: text}], text, charts)]
        reader.feed(re.sub(r"<script>/\*\*.*?</script>", "", document(text, sections), count=1, flags=re.S))
        return found

    usual = elements("harmless")
    assert [tag for tag, _ in usual].count("script") == 1  # that of the figure, beside Plotly's own
    for text in TEXTS:
        assert elements(text) == usual


def test_with_nothing_finished_there_is_a_report_all_the_same(finished, tmp_path):
    grid, store = finished[0], RunStore(tmp_path)
    assert csv_rows(grid, store, VIEW) == []
    assert "table" not in latex_of(grid, store, VIEW).replace("booktabs", "")
    assert "needs two methods" in html_of(grid, store, VIEW, "")


def test_of_many_modalities_only_the_chosen_direction_and_its_reverse_are_told(finished):
    grid = finished[0]
    assert told_directions(grid, VIEW) == grid.directions
    source = Planted(items=60, modalities=4)
    many = Grid(replace(grid.comparison, source=source), *source.load())
    assert len(many.directions) == 12
    view = View("sound", "text")
    assert told_directions(many, view) == [("sound", "text"), ("text", "sound")]
