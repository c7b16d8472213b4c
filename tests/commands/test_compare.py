"""compare as a person and a script meet it, and as it is killed in the middle of its work."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from smfh.__main__ import main
from smfh.datasets.planted import Planted
from smfh.runs import RunStore

FAST = ["--option", "items=60", "--bits", "4", "8", "--seeds", "1"]
METHODS = ["--methods", "smfh-plus:iterations=2:anchors=20", "cvh"]
SOON = 60  # seconds after which a test that hangs fails


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_for_people_with_what_the_figures_mean(capsys):
    assert main(["compare", "planted", *FAST, *METHODS]) == 0
    told = capsys.readouterr()
    for words in (
        "planted, text → image, mAP@100",
        "4 bits",
        "SMFH+",
        "CVH",
        "chance",
        "1 seed",
        "in database order",
    ):
        assert words in told.out
    assert "0 of 4 runs are there; 4 to train" in told.err
    assert "trained 4 runs" in told.err


def test_for_programs_as_json_and_csv_and_nothing_is_trained_twice(capsys):
    assert main(["compare", "planted", *FAST, *METHODS, "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert len(cells) == 2 * 2 * 2
    assert {cell["direction"] for cell in cells} == {"text->image", "image->text"}
    for cell in cells:
        assert 0 <= cell["ties_at_worst"] <= cell["mean"] <= cell["ties_at_best"] <= 1
    assert main(["compare", "planted", *FAST, *METHODS, "--csv"]) == 0
    told = capsys.readouterr()
    assert "trained 0 runs" in told.err
    rows = [row for row in csv.DictReader(io.StringIO(told.out)) if row["database"] == "training"]
    in_csv = {(r["method"], int(r["bits"]), f"{r['from']}->{r['to']}"): float(r["mAP@100"]) for r in rows}
    assert in_csv == {(c["method"], c["bits"], c["direction"]): c["mean"] for c in cells}


@pytest.mark.slow
def test_latex_is_printed_and_the_report_written(capsys, tmp_path):
    report = tmp_path / "report.html"
    assert main(["compare", "planted", *FAST, *METHODS, "--latex", "--html", str(report)]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    written = report.read_text(encoding="utf-8")
    assert "Comparison on Planted, text → image" in written
    assert "python -m smfh compare planted --option items=60" in written


def test_another_definition_and_protocol_train_nothing(capsys):
    main(["compare", "planted", *FAST, *METHODS, "--json"])
    first = json.loads(capsys.readouterr().out)
    main(["compare", "planted", *FAST, *METHODS, "--json", "--ap", "full", "--protocol", "unseen"])
    told = capsys.readouterr()
    assert "trained 0 runs" in told.err
    other = json.loads(told.out)
    assert {cell["score"] for cell in other} == {"mAP (whole ranking)"}
    assert [cell["mean"] for cell in other] != [cell["mean"] for cell in first]


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["atlantis"], ["Unknown data set 'atlantis'"]),
        (
            ["planted", "--methods", "md5", "smfh:gold"],
            ["Unknown method 'md5'", "Unknown preset of smfh 'gold'"],
        ),
        (["planted", "--html", "no/such/folder/a.html"], ["ends in .html in a folder that exists"]),
        (["planted", "--seeds", "0", "--bits", "0"], ["from 1 to 20 seeds; got 0", "bits (r)"]),
    ],
)
def test_bad_input_is_told_in_full(capsys, arguments, messages):
    assert main(["compare", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    for message in messages:
        assert message in told.err


def test_a_run_that_cannot_be_trained_is_told_beside_what_could(capsys):
    bad = "smfh:modality_weights=0.5,0.25,0.25"
    assert main(["compare", "planted", *FAST, "--methods", bad, "cvh"]) == 2
    told = capsys.readouterr()
    assert "CVH" in told.out
    assert "error: SMFH, 4 bits, seed 0: 3 modality weights" in told.err


def test_a_full_folder_is_told_before_anything_is_trained(capsys, monkeypatch):
    monkeypatch.setenv("SMFH_RUNS_GB", "0")
    assert main(["compare", "planted", *FAST, *METHODS]) == 2
    assert "delete some on the Runs page" in capsys.readouterr().err


def compare(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "smfh", "compare", "planted", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_in_the_middle_it_loses_nothing_and_goes_on_with_what_is_missing(own_cache):
    many = ["--option", "items=200", "--methods", "smfh-plus:iterations=20:anchors=50", "--bits", "8", "16"]
    many += ["--seeds", "20"]
    store = RunStore(own_cache / "runs")
    first = compare(*many)
    end = time.monotonic() + SOON
    while len(store.records()) < 5 and first.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=SOON)
    assert first.returncode == -signal.SIGKILL  # it was at work, not done
    listing = store.listing()
    assert 5 <= len(listing.runs) < 40
    assert listing.damaged == ()
    data, split = Planted(items=200).load()
    for record in listing.runs:  # every visible file is whole, to its last array
        assert store.hasher(record).bits == record.method.bits
        for search in record.searches:
            scores = store.scores(record, data, split, *search)
            assert scores.headline == record.headline(*search)
    stamps = {record.id: (store.folder / f"{record.id}.npz").stat().st_mtime_ns for record in listing.runs}

    second = compare(*many, "--json")
    out, err = second.communicate(timeout=SOON)
    assert second.returncode == 0
    assert f"{len(stamps)} of 40 runs are there; {40 - len(stamps)} to train" in err
    assert f"trained {40 - len(stamps)} runs" in err
    assert {cell["seeds"] for cell in json.loads(out)} == {20}
    for name, stamp in stamps.items():
        assert (store.folder / f"{name}.npz").stat().st_mtime_ns == stamp
    assert len(store.records()) == 40
