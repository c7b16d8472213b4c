"""Plug-ins: a method outside the package is trained in commands and workers; a broken one is skipped."""

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from smfh import plugins
from smfh.commands.check import method_problems
from smfh.commands.compare import compare_command
from smfh.datasets import DATASETS
from smfh.engine import Engine
from smfh.experiments.comparison import Comparison, View
from smfh.hashing import METHODS, make_method
from smfh.plugins import load_plugins, load_text

GUIDE = (Path(__file__).parents[1] / "assets" / "guide" / "library.md").read_text(encoding="utf-8")
METHOD = """
from dataclasses import dataclass
import numpy as np
from smfh.hashing import HashMethod, StepReport, directional_model, view_modalities
from smfh.types import parameter


@dataclass(frozen=True)
class RandomCodes(HashMethod):
    \"\"\"A random code for each class, which every modality predicts by ridge regression.\"\"\"

    name, title, steps = "random-codes", "Random codes", 1
    ridge: float = parameter(1.0, "γ", 1e-6, 1e6, "Shrinks the hash functions.", "log")

    def learn(self, train, rng, trace):
        Y = train.labels @ rng.standard_normal((train.labels.shape[1], self.bits))
        views = view_modalities(train, anchors=0, rng=rng)
        W = [np.linalg.solve(v.gram + self.ridge * np.eye(len(v.gram)), v.correlate(Y)) for v in views]
        yield StepReport({f"error ({v.modality})": np.sum((Y - v.project(w)) ** 2) for v, w in zip(views, W)})
        return directional_model(views, W, train)
"""
DATA = """
from dataclasses import dataclass
import numpy as np
from smfh import MultimodalDataset, Split
from smfh.datasets import DatasetCard, DatasetSource


@dataclass(frozen=True)
class Dice(DatasetSource):
    name = "dice"
    card = DatasetCard("Dice", "Throws, as pips and as words.", "600 throws", "Free.", "Generated.")

    def load(self, split="default", seed=0, on_progress=None):
        throws = np.random.default_rng(0).integers(6, size=600)
        modalities = {"pips": np.tri(6)[throws], "word": np.eye(6)[throws]}
        return MultimodalDataset("dice", modalities, throws + 1), Split(np.arange(500), np.arange(500, 600))
"""


@pytest.fixture
def registries():
    before = dict(METHODS), dict(DATASETS)
    yield
    for name in [name for name in sys.modules if name.startswith("smfh_plugin_")]:
        del sys.modules[name]
    for registry, known in zip((METHODS, DATASETS), before, strict=True):
        registry.clear()
        registry.update(known)


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(METHOD + DATA, encoding="utf-8")
    return path


def smfh(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SMFH_CACHE": str(cache), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "smfh", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_plug_in_is_trained_and_compared_by_commands(plugin, tmp_path):
    compared = smfh(
        *("--plugin", str(plugin), "compare", "dice", "--methods", "random-codes", "smfh"),
        *("--bits", "8", "--seeds", "1"),
        cache=tmp_path,
    )
    assert compared.returncode == 0, compared.stderr
    assert "Random codes" in compared.stdout


@pytest.mark.slow
def test_a_plug_in_is_tuned_exported_and_compared_on_a_cluster(plugin, tmp_path):
    from distributed import LocalCluster

    mine, model, table = ("--plugin", str(plugin)), tmp_path / "mine.npz", tmp_path / "mine.sql"
    order = ("tune", "--datasets", "dice", "--method", "random-codes", "--bits", "8", "--folds", "2", "--trials", "2")
    tuned = smfh(*mine, *order, cache=tmp_path)
    assert tuned.returncode == 0, tuned.stderr
    assert "with γ" in tuned.stdout
    fitted = smfh(*mine, "fit", "planted", "--method", "random-codes", "--save", str(model), cache=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    order = ("export", str(model), "--dataset", "planted", "--to", "pgvector", "--out", str(table))
    exported = smfh(*mine, *order, cache=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert "bit(64)" in table.read_text(encoding="utf-8")
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        order = ("compare", "dice", "--methods", "random-codes", "--bits", "8", "--seeds", "2", "--json")
        there = smfh(*mine, *order, "--cluster", cluster.scheduler_address, cache=tmp_path / "there")
    assert there.returncode == 0, there.stderr
    assert there.stdout == smfh(*mine, *order, cache=tmp_path / "here").stdout


def test_errors_of_a_method_are_reported_and_the_other_methods_are_scored(plugin, tmp_path):
    plugin.write_text(
        METHOD.replace("yield StepReport", "train.labels[10**6]\n        yield StepReport"), encoding="utf-8"
    )
    named = ("--plugin", str(plugin))
    order = (*named, "compare", "planted", "--methods", "random-codes", "cvh", "--bits", "8", "--seeds", "1")
    compared = smfh(*order, cache=tmp_path)
    assert compared.returncode == 2
    assert "CVH" in compared.stdout
    assert "Random codes failed in line 19 of its plug-in: IndexError" in compared.stderr
    fitted = smfh(*named, "fit", "planted", "--method", "random-codes", cache=tmp_path)
    assert (fitted.returncode, fitted.stderr.count("IndexError")) == (2, 1)
    assert "Traceback" not in compared.stderr + fitted.stderr
    checked = smfh("check", str(plugin), cache=tmp_path)
    assert (checked.returncode, checked.stderr.count("error:")) == (2, 1)
    assert "IndexError" in checked.stderr
    assert "– the same seed gives the same codes (not checked)" in checked.stdout


def test_methods_of_installed_packages_are_loaded_by_entry_point(tmp_path, registries, monkeypatch):
    (tmp_path / "installed.py").write_text(METHOD, encoding="utf-8")
    entries = [
        EntryPoint(name, f"installed:{cls}", "smfh.methods")
        for name, cls in (("good", "RandomCodes"), ("absent", "Nothing"), ("exits", "sys.exit"))
    ]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [e for e in entries if e.group == group])
    found = {plugin.origin.removeprefix("smfh.methods: "): plugin for plugin in load_plugins()}
    assert found["good"].methods == ("random-codes",)
    assert "no attribute 'Nothing'" in found["absent"].problem
    assert found["exits"].problem
    assert make_method("random-codes", bits=8).bits == 8


def test_the_command_that_repeats_a_comparison_names_the_plug_in(plugin, registries, monkeypatch):
    monkeypatch.setenv("SMFH_PLUGINS", str(plugin))
    load_plugins()
    view = View("text", "image")
    own, other = (Comparison(DATASETS["planted"](), (make_method(name),), (8,), 1) for name in ("random-codes", "cvh"))
    assert compare_command(own, view).startswith("python -m smfh --plugin mine.py compare planted")
    assert "--plugin" not in compare_command(other, view)


def test_the_example_of_the_guide_holds_the_contract(tmp_path):
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "HashMethod)" in code)
    (tmp_path / "guide.py").write_text(code, encoding="utf-8")
    checked = smfh("check", str(tmp_path / "guide.py"), cache=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "random-codes" in checked.stdout


@pytest.mark.slow
def test_local_workers_and_a_cluster_train_a_plug_in(plugin, tmp_path, registries, monkeypatch):
    from distributed import LocalCluster

    from smfh.datasets import Planted

    monkeypatch.setenv("SMFH_PLUGINS", str(plugin))
    load_text(plugin.name, plugin.read_text(encoding="utf-8"))
    train = Planted(items=120).load()[0]
    method = make_method("random-codes", bits=8)
    here = method.fit(train)
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        monkeypatch.delenv("SMFH_PLUGINS")  # the workers of the cluster do not know the file
        cluster.scale(2)
        monkeypatch.setenv("SMFH_PLUGINS", str(plugin))
        for engine in (Engine(), Engine(cluster.scheduler_address)):
            try:
                there = engine.call(method.fit, train)
            finally:
                engine.close()
            assert (there.database_codes["text"] == here.database_codes["text"]).all()


def test_check_explains_what_is_wrong(plugin, tmp_path):
    checked = smfh("check", str(plugin), cache=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "✓ the same seed gives the same codes" in checked.stdout
    plugin.write_text(METHOD.replace("rng.standard_normal(", "np.random.standard_normal("), encoding="utf-8")
    checked = smfh("check", str(plugin), cache=tmp_path)
    assert checked.returncode == 2
    assert "draw all random numbers from `rng`" in checked.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        (METHOD.replace('parameter(1.0, "γ", 1e-6, 1e6, "Shrinks the hash functions.", "log")', "1.0"), "define ridge"),
        (METHOD.replace("parameter(1.0,", "parameter(-1.0,"), "RandomCodes() fails"),
        ("x = 1", "defines no method"),
        (METHOD.replace("random-codes", "smfh"), "already a method named smfh"),
        (METHOD.replace("random-codes", "Random codes"), "lower-case letters"),
        (METHOD.replace("def learn", "def lern"), "lacks learn"),
        (METHOD.replace("@dataclass(frozen=True)", ""), "frozen dataclass"),
    ],
)
def test_a_broken_plug_in_is_skipped_with_the_reason(text, problem, registries):
    before = list(METHODS)
    assert problem in load_text("broken.py", text).problem
    assert list(METHODS) == before


@pytest.mark.parametrize("name", ["smfh-plus", "cvh"])
def test_own_methods_hold_the_contract(name):
    problems = [*method_problems(make_method(name, bits=16))]
    assert problems == [""] * len(problems)
