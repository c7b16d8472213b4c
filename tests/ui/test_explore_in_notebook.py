"""From a notebook to the app: the data survive the way, and the notebook of the guide runs."""

import json
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import smfh
from smfh.datasets import DATASETS, Planted
from smfh.datasets.notebook import read_dataset, write_dataset
from smfh.hashing import CVH
from smfh.runs import RunStore
from smfh.types import InputError, MultimodalDataset

NOTEBOOK = Path(__file__).parents[2] / "assets" / "guide" / "notebook.ipynb"


@pytest.fixture(autouse=True)
def same_data_sets():
    """Forget the data sets that a test registers."""
    known = dict(DATASETS)
    yield
    for name in DATASETS.keys() - known.keys():
        del DATASETS[name]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_data_are_read_as_they_were_written(is_sparse, tmp_path):
    data, split = Planted(items=60, sparse_text=is_sparse).load()
    pictures = [bytes([row % 7]) * row for row in range(60)]
    data = MultimodalDataset("a", data.modalities, data.labels, data.class_names, data.captions, pictures)
    write_dataset(tmp_path / "data.npz", data, split)
    again, same = read_dataset(tmp_path / "data.npz", "b")
    assert (again.fingerprint, same.fingerprint) == (data.fingerprint, split.fingerprint)
    assert list(again.captions or ()) == list(data.captions or ())
    assert list(again.thumbnails or ()) == pictures


def test_a_model_of_other_items_is_refused():
    data, split = Planted(items=60).load()
    with pytest.raises(InputError, match="has 45 training items"):
        smfh.explore(CVH(bits=4).fit(data), data, split)


@pytest.mark.slow
def test_the_app_opens_with_the_model_saved(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    data, split = Planted(items=60).load()
    server = smfh.explore(CVH(bits=4).fit(data.take(split.train)), data, split, open_browser=False)
    try:
        (folder,) = (tmp_path / "notebooks").iterdir()
        (record,) = RunStore(folder / "runs").records()
        assert record.source.name in server.url
        with urllib.request.urlopen(server.url, timeout=10) as page:  # noqa: S310, our own server
            assert page.status == 200
    finally:
        server.close()


@pytest.mark.slow
def test_the_notebook_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    scope: dict[str, object] = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        exec("".join(cell["source"]), scope)  # noqa: S102, our own notebook
    assert np.isfinite(scope["scores"][0].mean_average_precision)
    assert scope["chart"]._repr_mimebundle_()
    assert scope["server"].process.poll() is not None
