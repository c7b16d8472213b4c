"""The command compare: its output, its method texts, and what happens when it is killed."""

import csv
import io
import json
import shlex

import pytest

from smfh.__main__ import main
from smfh.commands.compare import compare_command, method_text
from smfh.commands.options import read_method
from smfh.datasets.planted import Planted
from smfh.experiments.comparison import Comparison, Grid, View, points, train_grid
from smfh.hashing import CVH, METHODS, SMFHPlus, make_method
from smfh.types import InputError

FAST = ["--option", "items=60", "--bits", "4", "8", "--seeds", "1"]
pytestmark = pytest.mark.usefixtures("store")
TWO_METHODS = ["--methods", "smfh-plus:iterations=2:anchors=20", "cvh"]


def test_json_and_csv_have_the_same_numbers_and_saved_runs_are_used(capsys):
    assert main(["compare", "planted", *FAST, *TWO_METHODS, "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert len(cells) == 2 * 2 * 2
    for cell in cells:
        assert cell["distinct_codes"] == int(cell["distinct_codes"]) > 1
        assert 0 <= cell["ties_at_worst"] <= cell["mean"] <= cell["ties_at_best"] <= 1
    assert main(["compare", "planted", *FAST, *TWO_METHODS, "--csv"]) == 0
    output = capsys.readouterr()
    assert "trained 0 runs" in output.err
    rows = [row for row in csv.DictReader(io.StringIO(output.out)) if row["database"] == "training"]
    in_csv = {(r["method"], int(r["bits"]), f"{r['from']}->{r['to']}"): float(r["mAP@100"]) for r in rows}
    assert in_csv == {(c["method"], c["bits"], c["direction"]): c["mean"] for c in cells}
    codes = {(r["method"], int(r["bits"]), f"{r['from']}->{r['to']}"): int(r["distinct codes"]) for r in rows}
    assert codes == {(c["method"], c["bits"], c["direction"]): c["distinct_codes"] for c in cells}
    main(["compare", "planted", *FAST, *TWO_METHODS, "--json", "--ap", "full", "--protocol", "unseen"])
    output = capsys.readouterr()
    assert "trained 0 runs" in output.err
    other = json.loads(output.out)
    assert {cell["score"] for cell in other} == {"mAP (whole ranking)"}
    assert [cell["mean"] for cell in other] != [cell["mean"] for cell in cells]


def test_several_shares_print_a_curve_and_one_share_is_an_option_of_the_data(capsys):
    order = ["compare", "planted", "--option", "items=60", "--bits", "8", "--seeds", "1", "--methods", "cvh"]
    assert main([*order, "--unseen-classes", "0.4", "0", "--json"]) == 0
    curve = {row["unseen_classes"]: row["mean"] for row in json.loads(capsys.readouterr().out)[:2]}
    for share, mean in curve.items():
        assert main([*order, "--option", f"unseen_classes={share}", "--json"]) == 0
        output = capsys.readouterr()
        assert "trained 0 runs" in output.err
        assert json.loads(output.out)[0]["mean"] == mean
    assert curve[0.4] < curve[0.0]
    means = {}
    for seed in ("0", "5"):
        given = ["--option", "unpaired=0.4", "--option", f"corruption_seed={seed}", "--json"]
        assert main([*order, *given]) == 0
        means[seed] = json.loads(capsys.readouterr().out)[0]["mean"]
    assert means["0"] != means["5"]
    assert main([*order, "--unpaired", "0.4", "--corruption-seed", "5", "--json"]) == 0
    output = capsys.readouterr()
    assert "trained 0 runs" in output.err
    assert json.loads(output.out)[0]["mean"] == means["5"]
    assert main([*order, "--unseen-classes", "0.4", "0", "--distance", "asymmetric"]) == 0
    assert "mAP@100, 8 bits, training items, asymmetric distance" in capsys.readouterr().out
    assert main([*order, "--unseen-classes", "0.4", "0", "--distance", "asymmetric", "--csv"]) == 0
    assert {row["distance"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} == {"asymmetric"}
    assert main([*order, "--unpaired", "0", "1", "--wrong-labels", "0", "1"]) == 2
    assert "Only one option can have several shares" in capsys.readouterr().err


def test_scores_are_printed_even_if_some_runs_fail(capsys):
    wrong = "smfh:modality_weights=0.5,0.25,0.25"
    assert main(["compare", "planted", *FAST, "--methods", wrong, "cvh"]) == 2
    output = capsys.readouterr()
    assert "CVH" in output.out
    assert "error: SMFH, 4 bits, seed 0: 3 modality weights" in output.err


@pytest.mark.parametrize("name", METHODS)
def test_method_texts_can_be_read_back(name):
    for preset in ("", *METHODS[name].presets):
        method = read_method(f"{name}:{preset}" if preset else name)
        assert read_method(method_text(method)) == method
    assert method_text(make_method(name, bits=7, seed=9)) == name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("smfh:gold", "Unknown preset of smfh 'gold'"),
        ("smfh:colour=1", "smfh has no parameter colour"),
        ("smfh:bits=3", "with --bits"),
        ("smfh:seed=3", "with --seeds"),
        ("smfh:ridge=x", "ridge must be a number"),
    ],
)
def test_wrong_method_texts_are_refused(text, problem):
    with pytest.raises(InputError, match=problem):
        read_method(text)


def test_the_printed_command_repeats_the_comparison(store, capsys):
    source = Planted(items=60)
    methods = (SMFHPlus(iterations=2, rounds=1, anchors=20), CVH())
    grid = Grid(Comparison(source, methods, bits=(8, 4), seeds=2), *source.load())
    train_grid(grid, store)
    view = View("text", "image", "capped", "unseen")
    words = shlex.split(compare_command(grid.comparison, view))
    assert words[:5] == ["python", "-m", "smfh", "compare", "planted"]
    assert main(words[3:]) == 0
    output = capsys.readouterr()
    assert "8 of 8 runs are saved; 0 to train" in output.err
    point = points(grid, store, view)[0]
    assert f"{point.mean:.3f} ± {point.deviation:.3f}" in output.out
