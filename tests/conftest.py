"""Data that many tests share."""

import os
import shutil
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from smfh.datasets import Emoji, Planted
from smfh.features.pictures import thumbnail
from smfh.runs import RunStore
from smfh.types import MultimodalDataset, Split

LONG = (  # slow tests that the gate leaves out: campaigns, load, and journeys of minutes; run with -m long
    "browser/*",
    "load/*",
    "campaign/*",
    "test_killed.py",
    "commands/test_guide.py",
    "commands/test_paper_command.py",
    "datasets/test_layouts.py",
    "engine/test_cluster_app.py",
    "engine/test_fitting_shards.py",
    "experiments/tuning/test_preferences.py",
    "experiments/tuning/test_processes.py",
    "hashing/test_wiki_scores.py",
    "paper/test_paper_tables.py",
    "retrieval/test_classifiers.py",
    "retrieval/test_estimator.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests of LONG files as long as well."""
    for item in items:
        name = item.path.relative_to(Path(__file__).parent).as_posix()
        if item.get_closest_marker("slow") and any(fnmatch(name, pattern) for pattern in LONG):
            item.add_marker("long")


class BrowserTogether(LoadFileScheduling):
    """The tests of a file stay in one process, and so do all in the browser: they share what they set up."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "browser" if "/browser/" in file else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BrowserTogether:
    return BrowserTogether(config, log)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(pytestconfig: pytest.Config) -> None:
    """Keep what is drawn once out of the user's own cache, and for the next run; but no runs, no studies."""
    folder = pytestconfig.cache.mkdir("smfh-" + os.environ.get("PYTEST_XDIST_WORKER", "alone"))
    shutil.rmtree(folder / "runs", ignore_errors=True)
    for file in folder.glob("studies.db*"):
        file.unlink()
    os.environ["SMFH_CACHE"] = str(folder)


@pytest.fixture(scope="session")
def planted() -> tuple[MultimodalDataset, Split]:
    return Planted(items=240).load()


@pytest.fixture(scope="session")
def three_modalities() -> tuple[MultimodalDataset, Split]:
    return Planted(items=240, modalities=3, sparse_text=True).load()


@pytest.fixture(scope="session")
def emoji() -> MultimodalDataset:
    return Emoji().load()[0]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """An empty folder of runs, which commands use too."""
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    return RunStore()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def wiki_folder() -> Path:
    folder = Path(os.environ.get("SMFH_DATA", "")) / "wiki"
    if not (folder / "raw_features.mat").is_file():
        pytest.skip("the Wiki files are not here: SMFH_DATA should name a folder that has wiki/")
    return folder


@pytest.fixture
def small_wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight pairs in two classes in Wiki's own files; the last two are the queries."""
    folder = tmp_path / "data" / "wiki"
    folder.mkdir(parents=True)
    (folder / "categories.list").write_text("art\nsport\n")
    for name, rows in (("trainset", range(6)), ("testset", range(6, 8))):
        lines = [f"text{k}-1.2\timage{k}\t{k % 2 + 1}\n" for k in rows]
        (folder / f"{name}_txt_img_cat.list").write_text("".join(lines))
    X = np.random.default_rng(0).random((8, 14)) + np.tile(np.eye(2), (4, 7))
    parts = {"I_tr": X[:6, :8], "I_te": X[6:, :8], "T_tr": X[:6, 8:], "T_te": X[6:, 8:]}
    savemat(folder / "raw_features.mat", parts)
    monkeypatch.setenv("SMFH_DATA", str(folder.parent))
    return folder


@pytest.fixture
def illustrated_wiki(small_wiki: Path) -> Path:
    """The same with pictures, the lighter the later, and texts in the official layout."""
    (small_wiki / "texts").mkdir()
    for k in range(8):
        picture = small_wiki / "images" / ("art", "sport")[k % 2] / f"image{k}.jpg"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(thumbnail(np.full((40, 30, 3), 30 * k, dtype=np.uint8)))
        text = f"<document><text>\nSection {k} &lt;b&gt;\nof it</text></document>"
        (small_wiki / "texts" / f"text{k}-1.2.xml").write_text(text)
    return small_wiki
