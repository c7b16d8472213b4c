"""NUS-WIDE on a miniature folder in the official layout: files, separators, line ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets import nus_wide
from smfh.datasets.nus_wide import LARGEST, NusWide, parse_counts
from smfh.types import InputError

ITEMS = 60
CONCEPTS = (*LARGEST, "airport", "zebra")  # two too many, so that ten must be chosen


def write_rows(path, matrix, separator, end):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(separator.join(map(str, row)) + end for row in matrix.tolist()), newline="")


@pytest.fixture
def official(tmp_path, monkeypatch):
    """What the archive holds: words end in a blank, tags in a tab, both lines in CR LF; labels one a line."""
    rng = np.random.default_rng(0)
    labels = rng.random((ITEMS, len(CONCEPTS))) < np.linspace(0.4, 0.05, len(CONCEPTS))
    labels[:3] = False
    labels[0, CONCEPTS.index("zebra")] = True  # has a concept, but none of the ten
    words = rng.integers(0, 1200, (ITEMS, 500))
    tags = (rng.random((ITEMS, 1000)) < 0.006).astype(int)
    tags[5] = 0
    labels[5, 0] = True
    folder = tmp_path / "nus_wide"
    write_rows(folder / "Low_Level_Features/BoW_int.dat", words, " ", " \r\n")
    write_rows(folder / "NUS_WID_Tags/AllTags1k.txt", tags, "\t", "\t\r\n")
    for concept, column in zip(CONCEPTS, labels.T, strict=True):
        write_rows(folder / f"Groundtruth/AllLabels/Labels_{concept}.txt", column[:, None].astype(int), "", "\n")
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    return folder, labels, words, tags


def test_the_items_of_the_ten_largest_concepts(official):
    _, labels, words, tags = official
    counts = dict(zip(CONCEPTS, labels.sum(axis=0), strict=True))
    largest = sorted(CONCEPTS, key=lambda concept: (-counts[concept], concept))[:10]
    wanted = labels[:, [CONCEPTS.index(concept) for concept in largest]]
    keep = wanted.any(axis=1)
    assert not keep[0]
    assert keep[5]  # without tags, but with a concept
    data, split = NusWide().load()
    assert data.class_names == tuple(largest)
    np.testing.assert_array_equal(data.labels, wanted[keep])
    np.testing.assert_array_equal(data.modalities["image"], words[keep])
    assert isinstance(data.modalities["text"], sparse.csr_array)
    np.testing.assert_array_equal(data.modalities["text"].toarray(), tags[keep])
    assert {X.dtype for X in data.modalities.values()} == {np.dtype(np.float32)}
    assert len(split.train) == round(len(data) * 180_000 / 186_577)
    assert data.captions is None


def test_tag_names_give_captions_and_encode_queries(official):
    folder, *_ = official
    words = np.array([f"tag{i}" for i in range(1000)])
    (folder / "NUS_WID_Tags/TagList1k.txt").write_text("\r\n".join(words) + "\r\n")
    data, _ = NusWide().load()
    text = data.modalities["text"].toarray() > 0
    assert list(data.captions) == [" ".join(words[row]) for row in text]
    sentence = data.encoders["text"].encode(["Tag7 and tag12!"])
    np.testing.assert_array_equal(sentence.toarray().nonzero()[1], [7, 12])
    (folder / "NUS_WID_Tags/TagList1k.txt").write_text("one two")
    with pytest.raises(InputError, match=r"TagList1k\.txt must have 1,000 different tags; it has 2"):
        NusWide().load()


def test_blocks_end_where_lines_end(official, monkeypatch):
    whole, _ = NusWide().load()
    monkeypatch.setattr(nus_wide, "BLOCK_BYTES", 3_001)
    seen = []
    in_blocks, _ = NusWide().load(on_progress=lambda share, words: seen.append((share, words)))
    assert in_blocks.fingerprint == whole.fingerprint
    assert seen[-1] == (1.0, "Reading AllTags1k.txt")
    assert len(seen) > 20


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("Low_Level_Features/BoW_int.dat", lambda text: text[:-2000], "line 60: expected 500 whole numbers"),
        ("Low_Level_Features/BoW_int.dat", lambda text: b"".join(text.splitlines(True)[:9]), "has 9 rows"),
        ("Low_Level_Features/BoW_int.dat", lambda text: text * 2, "has more than 60 rows"),
        ("Low_Level_Features/BoW_int.dat", lambda text: b"-" + text, r"line 1: .* beginning '-"),
        ("NUS_WID_Tags/AllTags1k.txt", lambda text: text.replace(b"1", b"nan", 1), "whole numbers"),
        ("NUS_WID_Tags/AllTags1k.txt", lambda text: b"", "has 0 rows"),
        ("NUS_WID_Tags/AllTags1k.txt", lambda text: b"\n\n", "has 0 rows"),
        ("Groundtruth/AllLabels/Labels_sky.txt", lambda text: text[2:], "same number of lines"),
    ],
)
def test_damaged_files_are_reported_with_the_line(official, file, change, said):
    path = official[0] / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=said):
        NusWide().load()


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 1 << 24), min_size=3, max_size=3), min_size=1, max_size=9),
    separator=st.sampled_from([" ", "\t", "  ", " \t"]),
    end=st.sampled_from(["\n", "\r\n", " \n", "\t\r\n"]),
)
def test_counts_are_parsed_like_python_does(rows, separator, end):
    text = "".join(separator.join(map(str, row)) + end for row in rows).encode()
    np.testing.assert_array_equal(parse_counts(text, 3), rows)
    np.testing.assert_array_equal(parse_counts(text.rstrip() + b"\n\n", 3), rows)


@pytest.mark.parametrize("text", [b"1 2", b"1 2\n3", b"1 2 x", b"1 -2 3", b"1 2 3.5", b"1 2 nan", b"1 2 12345678901"])
def test_other_text_is_not_parsed(text):
    assert parse_counts(text, 3) is None
