"""The contract of every data set: being registered is being tested."""

from dataclasses import FrozenInstanceError, dataclass, fields

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
        pytest.skip(f"{name} is not here: {' '.join(missing)}")
    return source


@each_source
def test_it_describes_itself(name):
    source = DATASETS[name]()
    assert source.name == name == name.lower()
    for text in (
        source.card.title,
        source.card.about,
        source.card.size,
        source.card.terms,
        source.card.origin,
    ):
        assert text
    assert hash(source) == hash(DATASETS[name]())
    for field in fields(source):
        with pytest.raises(FrozenInstanceError):
            setattr(source, field.name, None)


@each_source
def test_without_its_files_it_says_what_to_do(name, monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    source = DATASETS[name]()
    if source.card.files:
        assert "SMFH_DATA" in source.missing()[0]
        with pytest.raises(InputError, match="SMFH_DATA"):
            source.load()


@each_source
def test_it_loads_whole_and_splits(name, ready):
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
def test_a_given_split_is_kept(name, ready):
    _, split = ready.load()
    given = Split(train=split.queries, queries=split.train[:20])
    _, kept = ready.load(given)
    assert np.array_equal(kept.train, given.train)
    assert np.array_equal(kept.queries, given.queries)


@pytest.mark.slow
@each_source
def test_a_random_split_follows_its_seed(name, ready):
    first, again, other = (ready.load("random", seed=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)


@each_source
def test_an_unknown_split_lists_the_known_ones(name, ready):
    with pytest.raises(InputError, match="default, official, random"):
        ready.load("yesterday")


@dataclass(frozen=True)
class Birds(DatasetSource):
    """All that a new data set is."""

    name = "birds"
    card = DatasetCard("Birds", "Songs and feathers.", "8 birds", "Yours.", "Ask.", "birds", ("birds.npz",))
    most: int = parameter(8, "n", 4, 8, "Birds that are kept.")

    def load(self, split="default", seed=0, on_progress=None):
        arrays = read_npz(self.folder / "birds.npz", ["song", "feathers", "labels"])
        song, feathers, labels = (arrays[name][: self.most] for name in ("song", "feathers", "labels"))
        data = MultimodalDataset(self.name, {"song": song, "feathers": feathers}, labels, ("tit", "jay"))
        return data, resolve_split(split, seed, len(data))


def test_a_new_data_set_is_a_card_and_a_way_to_load(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    assert "Birds expects birds.npz in birds/ below the data folder" in Birds().missing()[0]
    with pytest.raises(InputError, match="Birds expects birds"):
        Birds().load()
    with pytest.raises(InputError, match="Birds cannot be fetched by program"):
        Birds().fetch()
    with pytest.raises(InputError, match="from 4 to 8; got 9"):
        Birds(most=9)
    (tmp_path / "birds").mkdir()
    X = np.ones((8, 3), dtype=np.float32)
    np.savez(tmp_path / "birds" / "birds.npz", song=X, feathers=X, labels=np.eye(8, 2, dtype=np.bool_))
    assert Birds().missing() == []
    data, split = Birds(most=4).load()
    assert (len(data), len(split.train), len(split.queries)) == (4, 3, 1)
    assert Birds(most=4) == Birds(4) != Birds()
