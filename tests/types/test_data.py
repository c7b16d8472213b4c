"""Data sets and splits list all that is wrong with them."""

import numpy as np
import pytest
from scipy import sparse

from smfh.types import DistanceCounts, InputError, MultimodalDataset, Split


def make(image=None, text=None, labels=None, names=("a", "b"), **more):
    return MultimodalDataset(
        "test",
        {
            "image": np.ones((4, 3), dtype=np.float32) if image is None else image,
            "text": np.ones((4, 2), dtype=np.float32) if text is None else text,
        },
        np.eye(2, dtype=bool)[[0, 1, 0, 1]] if labels is None else labels,
        names,
        **more,
    )


def test_everything_wrong_is_listed_at_once():
    image = np.ones((4, 3), dtype=np.float32)
    image[2, 1] = np.nan
    image[3, 0] = -1
    with pytest.raises(InputError) as caught:
        make(image, np.ones((5, 2), dtype=np.float32), names=("a",), captions=["x"])
    assert caught.value.problems == (
        "1 class names for 2 columns of labels.",
        "Modality 'image' has 1 NaN or infinite values, the first in row 2, column 1 (counted from 0).",
        "Modality 'image' has 1 negative values, the first in row 3, column 0 (counted from 0).",
        "Modality 'text' has 5 rows, the labels have 4.",
        "1 captions for 4 items.",
    )


def test_a_bad_value_of_a_sparse_matrix_is_found_in_its_place():
    text = sparse.csr_array(np.array([[0, 0], [0, 1], [0, 0], [np.inf, 0]], dtype=np.float32))
    with pytest.raises(InputError, match="first in row 3, column 0"):
        make(text=text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros((4, 2), dtype=bool)}, "no labels"),
        ({"labels": np.zeros((0, 2), dtype=bool)}, "no items"),
        ({"labels": 2 * np.ones((4, 2))}, "True and False"),
        ({"image": np.ones((4, 3), dtype=complex)}, "real numbers"),
        ({"image": np.ones(4, dtype=np.float32)}, "items × dimensions"),
        ({"image": np.ones((4, 0), dtype=np.float32)}, "no dimensions"),
    ],
)
def test_other_kinds_of_wrong(changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)


def test_rows_are_taken_from_everything():
    image = np.arange(12, dtype=np.float32).reshape(4, 3)
    data = make(image, captions=list("wxyz"), thumbnails=[b"0", b"1", b"2", b"3"])
    part = data.take(np.array([3, 1]))
    assert part.modalities["image"].tolist() == image[[3, 1]].tolist()
    assert part.captions == ["z", "x"]
    assert list(part.thumbnails) == [b"3", b"1"]
    assert list(part.thumbnails[1:]) == [b"1"]
    assert part.labels.tolist() == data.labels[[3, 1]].tolist()


def test_a_fingerprint_sees_every_cell():
    rng = np.random.default_rng(0)
    image = rng.random((1000, 600)).astype(np.float32)
    labels = rng.random((1000, 2)) < 0.5
    text = sparse.csr_array(rng.random((1000, 4)).astype(np.float32))
    first = make(image, text, labels).fingerprint
    assert make(image.copy(), text.copy(), labels.copy()).fingerprint == first
    seen = {first}
    cells = {(int(row), int(column)) for row, column in rng.integers(0, 600, (20, 2))}
    for row, column in cells:
        changed = image.copy()
        changed[row, column] += 1
        seen.add(make(changed, text, labels).fingerprint)
    other_labels = labels.copy()
    other_labels[5] = ~other_labels[5]
    seen.add(make(image, text, other_labels).fingerprint)
    other_text = text.copy()
    other_text.data[7] += 1
    seen.add(make(image, other_text, labels).fingerprint)
    assert len(seen) == 1 + len(cells) + 2


def test_a_split_lists_its_problems():
    with pytest.raises(InputError, match="2 rows stand twice"):
        Split(train=np.array([0, 1, 2]), queries=np.array([2, 2]))
    with pytest.raises(InputError) as caught:
        Split(train=np.array([-1, 0]), queries=np.array([0.5]))
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError, match="no queries rows"):
        Split(train=np.array([0]), queries=np.array([]))
    with pytest.raises(InputError, match="row 9, but there are 5 items"):
        Split(train=np.array([0]), queries=np.array([9])).check(5)


def test_a_split_cannot_be_written_to_and_leaves_the_given_rows_alone():
    rows = np.array([0, 1])
    split = Split(train=rows, queries=[2])
    rows[0] = 5
    for part in (split.train, split.queries, split.validation):
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 0


def test_counts_by_distance_cannot_be_written_to():
    counts = DistanceCounts(np.array([[1, 2]]), np.array([[0, 1]]))
    for part in (counts.items, counts.relevant):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
