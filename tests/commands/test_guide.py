"""Tables of the guide: written from measurements, here from invented ones."""

from itertools import product

import numpy as np
import pytest

from smfh.__main__ import main
from smfh.commands import guide, guide_measure

COLUMNS = ["data", "rival", "features", "bits", "measure", "direction", "protocol", "distance"]
COLUMNS += ["difference", "result", "codes", "rival_codes"]


def row(rival="dch", features="same", bits=16, distance="hamming", difference=0.01, result="win", data="wiki"):
    about = [data, rival, features, bits, "mAP@100", "text → image", "training", distance]
    return [*about, difference, result, 700.0, 10.0]


MEASURED = {
    "equal": {
        "seeds": 3,
        "measured": "a machine, 2026-01-01",
        "columns": COLUMNS,
        "rows": [
            row(),
            row(result="loss", difference=-0.02),
            row(bits=64, result="loss", difference=-0.004),
            row(bits=64, result="tie", data="digits"),
            row(rival="batch", distance="asymmetric", result="loss", difference=-0.03),
            row(features="strong", bits=64, result="loss", difference=-0.5),
        ],
    }
}


def test_wins_ties_and_losses_are_counted_by_rival_features_and_distance():
    lines = guide.equal_features(MEASURED).splitlines()
    assert lines[0] == "| SMFH+ against | features | bits | distance | Wiki | Digits, signed |"
    assert lines[2:5] == [
        "| DCH | strong | 64 | Hamming | 0 / 0 / 1 | 0 / 0 / 0 |",
        "| DCH | same | 16, 64 | Hamming | 1 / 0 / 2 | 0 / 1 / 0 |",
        "| BATCH | same | 16 | asymmetric | 0 / 0 / 1 | 0 / 0 / 0 |",
    ]
    text = " ".join(lines)
    assert "1 / 1 / 2 of 4 with the same features by Hamming distance" in text
    assert "Means of 3 seeds. Measured on: a machine, 2026-01-01." in text
    assert lines[-3:] == ["| SMFH+ | 700, 700 | 700 |", "| DCH | 10, 10 | 10 |", "| BATCH | 10 |  |"]


def test_distinct_codes_stand_in_the_order_of_the_bits():
    rows = [row(bits=64), row(bits=128), row(rival="class-codes", bits=64)]
    rows[1][-2] = 900.0  # distinct codes of SMFH+
    text = guide.equal_features({"equal": MEASURED["equal"] | {"rows": rows}})
    assert "| SMFH+ | 700, 900 |" in text


def test_every_loss_with_equal_features_is_named():
    assert guide.equal_losses(MEASURED).splitlines()[2:] == [
        "- Wiki, Hamming distance: 2 of 3 comparisons.",
        "  - mAP@100, training items: DCH (16, 64 bits: −0.020 to −0.004).",
        "- Wiki, asymmetric distance: 1 of 1 comparisons.",
        "  - mAP@100, training items: BATCH (16 bits: −0.030).",
    ]


def test_the_guide_is_written_from_the_file_of_equal_features(monkeypatch, tmp_path):
    """Nothing of a former table is left, and tables without measurements stay as they are."""
    (tmp_path / "assets" / "guide").mkdir(parents=True)
    (tmp_path / "assets" / "guide" / "equal.json").write_text(guide.as_json(MEASURED["equal"]), encoding="utf-8")
    table = "<!-- table: {} -->\nformer\n<!-- end of table -->\n"
    text = "before\n" + "".join(map(table.format, ["equal-about", "equal-features", "equal-losses", "seconds"]))
    monkeypatch.setattr(guide, "FILES", ("page.md",))
    monkeypatch.setattr(guide, "app_folder", lambda: tmp_path)
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert main(["guide"]) == 0
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert written.startswith("before\n")
    assert written.count("former") == 1
    assert guide.equal_features(MEASURED) in written
    assert guide.equal_losses(MEASURED) in written
    assert f"up to {guide_measure.PLANTED.labels_per_item} of {guide_measure.PLANTED.classes} classes" in written


def test_columns_that_were_not_measured_are_left_out():
    scores = {
        f"{dataset} {name} 64 {protocol} hamming {direction}": {"found": 0.5, "chance": 0.1}
        for dataset, name, protocol, direction in product(
            guide_measure.SETS, ("smfh", *guide_measure.NEWER), ("training", "unseen"), guide_measure.DIRECTIONS
        )
    }
    assert "codes" not in guide.overview({"scores": scores}).splitlines()[0]
    scores["wiki smfh-plus 64 training hamming text → image"]["codes"] = 684.2
    scores["wiki smfh-plus 64 training hamming image → text"]["codes"] = 684.2
    head, _, first, *_ = guide.overview({"scores": scores}).splitlines()
    assert head.endswith("| Wiki; codes |")
    assert first.endswith("| 684 |")


@pytest.mark.slow
def test_equal_features_are_measured_by_the_paired_test_and_saved_runs_are_reused(monkeypatch, store):
    monkeypatch.setitem(guide_measure.DATASETS, guide_measure.Digits.name, guide_measure.Digits)
    monkeypatch.setattr(guide_measure, "EQUAL_SETS", ("digits",))
    monkeypatch.setattr(guide_measure, "EQUAL_BITS", (8,))
    monkeypatch.setattr(guide_measure, "RIVALS", ("dch",))
    monkeypatch.setitem(guide_measure.SOURCES, "digits", guide_measure.Digits(wrong_labels=0.1))
    found = guide_measure.measure_equal(seeds=1)
    assert [*found["columns"]] == COLUMNS
    assert len(found["rows"]) == 3 * 3 * 2 * 2 * 2  # rivals and features × measures × ways × databases × distances
    by_result = {row[9]: row[8] for row in found["rows"]}
    assert by_result.get("win", 1) > 0 > by_result.get("loss", -1)
    assert guide.as_json(found).count("\n") < 2 * len(found["rows"])
    saved = {path: path.stat().st_mtime_ns for path in (store.folder.parent / "digits").glob("*.npz")}
    assert guide_measure.measure_equal(seeds=1)["rows"] == found["rows"]
    assert {path: path.stat().st_mtime_ns for path in (store.folder.parent / "digits").glob("*.npz")} == saved != {}


def test_digits_are_signed_and_their_components_know_no_query():
    data, split = guide_measure.Digits().load()
    assert {name: X.shape for name, X in data.modalities.items()} == {"upper": (1797, 20), "lower": (1797, 20)}
    for X in data.modalities.values():
        assert X.min() < 0
        np.testing.assert_allclose(X[split.train].mean(axis=0), 0, atol=1e-5)
