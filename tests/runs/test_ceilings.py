"""What the features allow, kept: by its data and split, whole or not there, private where the data is."""

import numpy as np
import pytest

from smfh.ceiling import Ceiling
from smfh.metrics import AP_DEFINITIONS
from smfh.runs import PrivateRuns, RunStore, ceiling_key
from smfh.runs.ceilings import check_ceiling, estimate_ceiling
from smfh.runs.limits import GB, Limits
from smfh.types import InputError, MultimodalDataset, Split

CEILING = Ceiling(
    {("text", "image", "unseen"): {name: 0.1 * k for k, name in enumerate(AP_DEFINITIONS)}}, ("By trees.",)
)


@pytest.fixture
def key(planted):
    return ceiling_key(*planted)


def test_it_comes_back_as_it_was_and_is_that_of_its_data_and_split(tmp_path, planted, key):
    data, split = planted
    store = RunStore(tmp_path)
    assert store.ceiling(key) is None
    store.save_ceiling(key, CEILING)
    assert RunStore(tmp_path).ceiling(key) == CEILING
    other = Split(split.train[1:], split.queries)
    assert store.ceiling(ceiling_key(data, other)) is None
    assert store.ceiling(ceiling_key(data.take(np.arange(50)), split)) is None
    assert store.listing().runs == store.listing().damaged == ()


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"searches": 3}', b'{"searches": [], "told": null}', b"\xff"]
)
def test_a_damaged_file_is_as_if_it_were_not_there(tmp_path, key, content):
    store = RunStore(tmp_path)
    store.save_ceiling(key, CEILING)
    (file,) = (tmp_path / "ceilings").iterdir()
    file.write_bytes(content)
    assert store.ceiling(key) is None


def test_what_is_private_stays_in_memory(tmp_path, planted):
    own = ceiling_key(*planted, owner="somebody")
    runs = PrivateRuns()
    assert runs.ceiling(own) is None
    runs.save_ceiling(own, CEILING)
    assert runs.ceiling(own) == CEILING
    assert RunStore(tmp_path).ceiling(own) is None


def made_up(items, dimensions, classes, several=False):
    labels = np.eye(classes, dtype=bool)[np.arange(items) % classes]
    if several:
        labels |= np.eye(classes, dtype=bool)[np.arange(1, items + 1) % classes]
    X = np.ones((items, dimensions), np.float32)
    split = Split(np.arange(items * 3 // 4), np.arange(items * 3 // 4, items))
    return MultimodalDataset("made", {"image": X, "text": X}, labels), split


@pytest.mark.parametrize("several", [False, True])
def test_more_of_anything_takes_more(several):
    usual = estimate_ceiling(*made_up(400, 20, 10, several))
    for more in ((800, 20, 10), (400, 40, 10), (400, 20, 20)):
        cost = estimate_ceiling(*made_up(*more, several))
        assert cost.bytes > usual.bytes
        assert cost.seconds > usual.seconds


def test_beyond_the_rows_that_are_drawn_little_is_added():
    some, all_rows = (estimate_ceiling(*made_up(items, 20, 10)) for items in (8_000, 80_000))
    assert all_rows.bytes < 2 * some.bytes


def test_classifiers_that_take_too_much_are_refused_with_the_figure(planted):
    check_ceiling(*planted, Limits(1, 2))
    many = made_up(8_000, 20, 500, several=True)  # trees that tell 500 classes yes or no in every leaf
    assert estimate_ceiling(*many).bytes > 20 * GB
    with pytest.raises(InputError, match=r"would take about \d+\.\d GB and .* may take 4\.0 GB and 60 min"):
        check_ceiling(*many, Limits(4, 60))
