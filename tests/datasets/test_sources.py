"""The contract of every data set: each registered set is tested."""

from dataclasses import dataclass

import numpy as np
import pytest

from smfh.datasets import DATASETS, DatasetCard, DatasetSource
from smfh.datasets.shared_mat import SharedMat
from smfh.datasets.splits import resolve_split
from smfh.files import read_npz
from smfh.types import InputError, MultimodalDataset, Split, parameter

SMALLER = {"synthetic": {"items": 600}}
each_source = pytest.mark.parametrize("name", DATASETS)


@pytest.fixture
def ready(name, request):
    if issubclass(DATASETS[name], SharedMat):
        request.getfixturevalue("written")
    source = DATASETS[name](**SMALLER.get(name, {}))
    if missing := source.missing():
        pytest.skip(f"{name} is not available: {' '.join(missing)}")
    return source


@each_source
def test_a_set_describes_itself_and_its_missing_files(name, monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    source = DATASETS[name]()
    card = source.card
    assert all((card.title, card.about, card.size, card.terms, card.origin))
    assert hash(source) == hash(DATASETS[name]())
    if source.card.files:
        assert "SMFH_DATA" in source.missing()[0]
        with pytest.raises(InputError, match="SMFH_DATA"):
            source.load()


@each_source
def test_a_set_loads_with_its_split(name, ready):
    data, split = ready.load()
    assert data.name == name
    assert len(data.modalities) >= 2
    assert len(np.intersect1d(split.train, split.queries)) == 0
    assert max(split.train.max(), split.queries.max()) < len(data)
    assert data.labels[split.train].any(axis=0).sum() >= 2
    for X in data.modalities.values():
        assert X.dtype == np.float32


@pytest.mark.slow
@each_source
def test_a_given_split_is_used_and_a_random_one_follows_its_seed(name, ready):
    _, split = ready.load()
    given = Split(train=split.queries, queries=split.train[:20])
    _, used = ready.load(given)
    assert np.array_equal(used.train, given.train)
    assert np.array_equal(used.queries, given.queries)
    first, again, other = (ready.load("random", seed=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)


@each_source
def test_an_unknown_split_lists_the_known_ones(name, ready):
    with pytest.raises(InputError, match="default, official, random"):
        ready.load("yesterday")


@dataclass(frozen=True)
class Birds(DatasetSource):
    """A new data set: a card and a loader."""

    name = "birds"
    card = DatasetCard("Birds", "Songs and feathers.", "8 birds", "Yours.", "Ask.", "birds", ("birds.npz",))
    most: int = parameter(8, "n", 4, 8, "Number of birds.")

    def load(self, split="default", seed=0, on_progress=None):
        arrays = read_npz(self.folder / "birds.npz", ["song", "feathers", "labels"])
        song, feathers, labels = (arrays[name][: self.most] for name in ("song", "feathers", "labels"))
        data = MultimodalDataset(self.name, {"song": song, "feathers": feathers}, labels, ("tit", "jay"))
        return data, resolve_split(split, seed, len(data))


@pytest.mark.parametrize("is_set", [True, False])
def test_a_new_data_set_needs_a_card_and_a_loader(tmp_path, monkeypatch, user_data_folder, is_set):
    """Its files are found in SMFH_DATA, and in the user's data folder."""
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    assert "Birds needs birds.npz in birds/ below the data folder" in Birds().missing()[0]
    with pytest.raises(InputError, match="Birds needs birds"):
        Birds().load()
    with pytest.raises(InputError, match="Birds cannot be downloaded automatically"):
        Birds().fetch()
    with pytest.raises(InputError, match="from 4 to 8; got 9"):
        Birds(most=9)
    folder = (tmp_path if is_set else user_data_folder) / "birds"
    folder.mkdir(parents=True)
    X = np.ones((8, 3), dtype=np.float32)
    np.savez(folder / "birds.npz", song=X, feathers=X, labels=np.eye(8, 2, dtype=np.bool_))
    assert Birds().missing() == []
    data, split = Birds(most=4).load()
    assert (len(data), len(split.train), len(split.queries)) == (4, 3, 1)
    assert Birds(most=4) == Birds(4) != Birds()
