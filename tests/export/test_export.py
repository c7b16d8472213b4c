"""Export of a comparison: charts, tables, and the report."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hostile_texts import TEXTS

from smfh.datasets import Planted
from smfh.experiments.comparison import Comparison, Grid, View, query_precisions, train_grid
from smfh.export import (
    compared_pairs,
    csv_rows,
    every_chart,
    html_of,
    latex_of,
    markdown_of,
    pair_rows,
    score_rows,
    sentences,
    table_rows,
    winners,
)
from smfh.export.report import document, section
from smfh.files.latex import typeset
from smfh.hashing import CVH, SMFH
from smfh.metrics import AP_DEFINITIONS
from smfh.plots import csv_of, score_curves
from smfh.plots.lines import typeset_html
from smfh.plots.paper_figure import figure_files
from smfh.runs import RunStore
from smfh.types import Point

VIEW = View("text", "image", bits=16)
PAPER = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs,amsmath,graphicx}
\begin{document}
\begin{figure}\includegraphics[width=\columnwidth]{figure.pdf}\caption{Scores.}\end{figure}
\input{tables.tex}
\end{document}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two methods, two lengths, two seeds."""
    source, store = Planted(items=120), RunStore(tmp_path_factory.mktemp("runs"))
    comparison = Comparison(source, (SMFH(iterations=5, graph_sample=50), CVH()), (8, 16), 2)
    grid = Grid(comparison, *source.load())
    assert train_grid(grid, store) == {}
    return grid, store


def test_every_chart_has_its_formula_and_both_methods(finished):
    charts = every_chart(*finished, VIEW)
    scores = ["found", "full", "precision"]
    assert list(charts) == [
        *scores,
        "ndcg_at_100",
        "distinct_codes",
        "at_k",
        "recall",
        "radius",
        "hits",
        "training",
        "encoding",
    ]
    for chart in charts.values():
        named = {trace.name for trace in chart.figure().data}
        assert {"SMFH", "CVH"} <= named
        assert typeset_html(chart.formula) in chart.figure().layout.xaxis.title.text
    pairs = ["recall_at_1", "recall_at_5", "recall_at_10", "median_rank"]
    assert set(every_chart(*finished, replace(VIEW, protocol="unseen"))) == {*charts, *pairs}
    assert [charts[name].formula for name in scores] == [AP_DEFINITIONS[name].formula for name in scores]


def test_sentences_name_the_better_method(finished):
    AP = query_precisions(*finished, VIEW)
    better, other = sorted(AP, key=lambda title: -AP[title].mean())
    pairs = compared_pairs(*finished, VIEW)
    (sentence,) = sentences(pairs, VIEW)
    assert sentence.startswith((f"{better} beats {other} at 16 bits", f"{better} and {other} cannot be told"))
    assert f"text → image: +{AP[better].mean() - AP[other].mean():.3f} (95 % interval" in sentence
    assert "2 seeds" in sentence
    assert pair_rows(pairs)[0]["better"] == better


def test_the_best_method_by_each_measure(finished):
    grid, store = finished
    tested = {one.metric.label: compared_pairs(grid, store, one) for one in VIEW.headline_views}
    assert list(tested) == ["mAP@100", "mAP (whole ranking)", "P@100"]
    for one in VIEW.headline_views:
        means = {title: AP.mean() for title, AP in query_precisions(grid, store, one).items()}
        assert tested[one.metric.label][0].first == max(means, key=means.get)
    (pair,) = tested["mAP@100"]
    other = replace(pair, first=pair.second, second=pair.first)
    assert winners({"a": [pair], "b": [other]}).endswith(f": {pair.first} by a, {pair.second} by b.")


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


def test_a_paper_table_has_both_directions_and_marks_the_best_and_its_equals(finished):
    text = latex_of(*finished, VIEW)
    for command in (r"\begin{table}", r"\end{table}", r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(command) == 6  # four measures, distinct codes and training seconds
    assert text.count(r"text $\rightarrow$ image} & \multicolumn{2}{c}{image $\rightarrow$ text}") == 5
    rows = [line for line in text.splitlines() if line.startswith(("SMFH &", "CVH &"))]
    cell = r" & \$(\\mathbf\{)?[\d.]+\}?\{\\scriptstyle\\pm[\d.]+\}\$"
    assert [bool(re.fullmatch(rf"\w+({cell}){{4}} \\\\", row)) for row in rows] == [True] * 10 + [False] * 2
    assert rf"${AP_DEFINITIONS['found'].latex}$" in text
    assert text.isascii()
    (pair,) = compared_pairs(*finished, VIEW)
    marked = {
        row["method"]: row["best or tied"]
        for row in table_rows(*finished, VIEW)
        if (row["measure"], row["direction"], row["bits"]) == ("mAP@100", VIEW.direction, VIEW.bits)
    }
    assert marked == {pair.first: "yes", pair.second: "no" if pair.is_clear else "yes"}
    assert text.count("paired bootstrap") == 4  # every measure with a value per query
    tables = markdown_of(*finished, VIEW).split("\n\n")
    assert r"$AP@100 = \frac{\sum_{k" in tables[0].replace(r"\mathrm{AP}", "AP")
    assert "image" not in tables[-1]  # seconds of training have no direction
    assert [line.count("|") for line in tables[1].splitlines()] == [6] * 4
    assert ["**" in table for table in tables[1::2]] == [True] * 4 + [False, True]  # no number of codes is best


def test_formulas_are_typeset_and_words_are_escaped():
    for definition in AP_DEFINITIONS.values():
        ours = typeset(definition.formula)
        assert r"\frac{\sum_{" in ours
        assert not set("Σ≤·") & set(ours)
    assert typeset("P@K = Σ_(k≤K) rel(k) / K, mean over queries") == (
        r"$P@K = \frac{\sum_{k \leq K} \mathrm{rel}(k)}{K}$, mean over queries"
    )
    assert typeset("share of 5 % & more") == r"share of 5 \% \& more"


def test_the_report_is_self_contained(finished):
    grid, store = finished
    text = html_of(grid, store, VIEW, "smfh compare planted & more")
    assert text.count("plotly.js v") == 1
    assert text.count('class="plotly-graph-div"') == 11
    without_plotly = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.S)
    assert not re.search(r"(src|href)\s*=", without_plotly)
    for needed in (
        AP_DEFINITIONS["found"].words,
        "<mfrac><mrow><munder><mo>∑</mo>",
        "All 1 pairs of methods</summary><table>",
        next(iter(grid.keys.values())).data,
        next(iter(grid.keys.values())).split,
        sentences(compared_pairs(grid, store, VIEW), VIEW)[0],
        "graph_sample = 50",
        "numpy",
        "smfh compare planted &amp; more",
    ):
        assert needed in without_plotly
    assert "Σ_" not in without_plotly
    assert without_plotly.index("<strong>") < without_plotly.index("plotly-graph-div") < without_plotly.index("noise?")
    assert all(row["method"] in without_plotly for row in score_rows(grid, store, VIEW))


def test_a_document_with_figure_and_tables_compiles(finished, tmp_path):
    if (pdflatex := shutil.which("pdflatex")) is None:
        pytest.skip("there is no pdflatex: install texlive-latex-recommended")
    (tmp_path / "tables.tex").write_text(latex_of(*finished, VIEW), encoding="utf-8")
    chart = every_chart(*finished, VIEW)["found"]
    (tmp_path / "figure.pdf").write_bytes(figure_files(chart)["one-column.pdf"])
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    order = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(order, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


def test_hostile_text_adds_no_element_to_the_report():
    """Compare tags and attributes with those of a report with harmless text."""

    def elements(text: str) -> list[tuple[str, list[str]]]:
        found = []
        reader = HTMLParser()
        reader.handle_starttag = lambda tag, attributes: found.append((tag, [name for name, _ in attributes]))
        point = Point("smfh", text, text, 16, (0.4, 0.6), (0.3, 0.7), 0.1)
        charts = {"one": score_curves([point], text, formula=text)}
        sections = [section(text, [text], [{text: text}], text, charts)]
        reader.feed(re.sub(r"<script>/\*\*.*?</script>", "", document(text, sections), count=1, flags=re.S))
        return found

    usual = elements("harmless")
    assert [tag for tag, _ in usual].count("script") == 1  # that of the figure, beside Plotly's own
    for text in TEXTS:
        assert elements(text) == usual


def test_a_report_without_finished_runs(finished, tmp_path):
    grid, store = finished[0], RunStore(tmp_path)
    assert csv_rows(grid, store, VIEW) == []
    assert "table" not in latex_of(grid, store, VIEW).replace("booktabs", "")
    assert "needs at least two methods" in html_of(grid, store, VIEW, "")
