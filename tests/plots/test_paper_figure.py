"""Figures for papers: every chart is drawn, its code draws the same from its CSV, and text cannot run."""

import subprocess
import sys
import zipfile
from io import BytesIO

import pytest
from chart_examples import empty, full
from hostile_texts import TEXTS

from smfh.plots import CHARTS, draw_figure
from smfh.plots.paper_figure import figure_code, figure_files, figure_parts, figure_zip


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_becomes_a_figure_with_all_its_series(name):
    chart = full(name)
    spec, rows = figure_parts(chart)
    assert len(spec["series"]) == len(chart.figure().data)
    assert {row["series"] for row in rows} == set(range(len(spec["series"])))
    figure = draw_figure.draw(spec, rows)
    drawn = [axis.get_xlabel() for axis in figure.axes]
    assert all(panel["x"]["label"].split("\n")[0] in "\n".join(drawn) for panel in spec["panels"])
    draw_figure.draw(*figure_parts(empty(name)))


def test_the_exported_code_draws_the_same_figure_from_the_csv(tmp_path):
    files = figure_files(full("score_curves"))
    kinds = {f"{columns}{bands}" for columns in ("one-column", "two-columns") for bands in ("", "-without-bands")}
    assert files.keys() == {"figure.csv", "figure.py", *(k + e for k in kinds for e in (".svg", ".pdf"))}
    for name in ("figure.csv", "figure.py"):
        (tmp_path / name).write_bytes(files[name])
    order = [sys.executable, "figure.py", "--columns", "2", "--no-bands"]
    subprocess.run(order, cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "figure.svg").read_bytes() == files["two-columns-without-bands.svg"]
    assert files["one-column.svg"] != files["one-column-without-bands.svg"]
    assert files["one-column.pdf"].startswith(b"%PDF")


def test_formulas_are_typeset_in_figures():
    spec, _ = figure_parts(full("precision_at_k"))
    assert r"\dfrac{\Sigma_{k \leq K} \mathrm{rel}(k)}{K}$" in spec["panels"][0]["x"]["label"]


@pytest.mark.parametrize("text", TEXTS)
def test_names_from_data_stay_names(text, tmp_path):
    spec, rows = figure_parts(full("score_curves", text))
    scope = {"__name__": "figure"}
    exec(compile(figure_code(spec), "figure.py", "exec"), scope)  # noqa: S102, our own code with names in it
    assert scope["SPEC"] == spec
    draw_figure.save(draw_figure.draw(spec, rows), tmp_path / "figure.svg")


def test_several_charts_are_in_folders_of_one_file():
    charts = {name: full(name) for name in ("bit_balance", "class_bits")}
    with zipfile.ZipFile(BytesIO(figure_zip(charts))) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == charts.keys()
