"""What the features allow, kept: by its data and split, whole or not there, private where the data is."""

import numpy as np
import pytest

from smfh.ceiling import Ceiling
from smfh.metrics import AP_DEFINITIONS
from smfh.runs import PrivateRuns, RunStore, ceiling_key
from smfh.types import Split

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
