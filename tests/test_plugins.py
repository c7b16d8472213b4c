"""Plug-ins: a method outside the package is trained in commands and workers; a broken one is skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smfh.commands.check import method_checks
from smfh.datasets import DATASETS
from smfh.engine import Engine
from smfh.hashing import METHODS, make_method
from smfh.plugins import load_text

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
def test_local_workers_and_a_cluster_train_a_plug_in(plugin, tmp_path, registries, monkeypatch):
    from distributed import LocalCluster

    from smfh.datasets import Planted

    monkeypatch.setenv("SMFH_PLUGINS", str(plugin))
    load_text(plugin.name, plugin.read_text(encoding="utf-8"))
    train = Planted(items=120).load()[0]
    method = make_method("random-codes", bits=8)
    here = method.fit(train)
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
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
        ("x = 1", "defines no method"),
        (METHOD.replace("random-codes", "smfh"), "a method named smfh already"),
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
    problems = [check() for _, check in method_checks(make_method(name, bits=16))]
    assert problems == [""] * len(problems)
