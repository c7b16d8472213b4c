"""Methods and comparisons as commands spell them."""

import shlex

import pytest

from smfh.__main__ import main
from smfh.commands.spelling import compare_command, method_text, read_method
from smfh.comparison import Comparison, Grid, View, points, train_grid
from smfh.datasets.planted import Planted
from smfh.hashing import CVH, METHODS, SMFHPlus, make_method
from smfh.runs import RunStore
from smfh.types import InputError


@pytest.mark.parametrize("name", METHODS)
def test_methods_as_words_read_back(name):
    for preset in ("", *METHODS[name].presets):
        method = read_method(f"{name}:{preset}" if preset else name)
        assert read_method(method_text(method)) == method
    assert method_text(make_method(name, bits=7, seed=9)) == name


def test_parameters_in_words():
    method = read_method("smfh:graph_weight=3:modality_weights=0.7,0.3")
    assert method == make_method("smfh", graph_weight=3.0, modality_weights=(0.7, 0.3))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("md5", "Unknown method 'md5'"),
        ("smfh:gold", "Unknown preset of smfh 'gold'"),
        ("smfh:colour=1", "smfh has no parameter colour"),
        ("smfh:bits=3", "with --bits"),
        ("smfh:seed=3", "with --seeds"),
        ("smfh:ridge=x", "ridge must be a number"),
        ("smfh:ridge=-1", "ridge"),
    ],
)
def test_bad_words_for_a_method_are_told(text, problem):
    with pytest.raises(InputError, match=problem):
        read_method(text)


def test_the_command_repeats_the_comparison(tmp_path, capsys, monkeypatch):
    source, store = Planted(items=60), RunStore(tmp_path)
    methods = (SMFHPlus(iterations=2, rounds=1, anchors=20), CVH())
    grid = Grid(Comparison(source, methods, bits=(8, 4), seeds=2), *source.load())
    train_grid(grid, store)
    view = View("text", "image", "capped", "unseen")
    words = shlex.split(compare_command(grid.comparison, view))
    assert words[:5] == ["python", "-m", "smfh", "compare", "planted"]
    assert "items=60" in words
    monkeypatch.setattr("smfh.commands.compare.RunStore", lambda: store)
    assert main(words[3:]) == 0
    told = capsys.readouterr()
    assert "8 of 8 runs are there; 0 to train" in told.err
    shown = points(grid, store, view)[0]
    assert f"{shown.mean:.3f} ± {shown.deviation:.3f}" in told.out
