"""Labels that are not in the files: topics of captions, groups of pictures, or labels assigned by hand.

Topics and groups are clusters, found by k-means. If their number is not given, it is guessed: the smallest
number whose silhouette (Rousseeuw, 1987) is at least 90 % of the highest one. At most √n clusters are tried
for n items.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from smfh.datasets.user_rows import SEPARATORS, UploadedRows, class_text
from smfh.features.maps import row_norms
from smfh.features.text import fit_tf_idf, split_words
from smfh.features.words import STOP_WORDS
from smfh.types import EPS, FloatArray, InputError, IntArray, MultimodalDataset

LABEL_SOURCES = {  # what can be used as labels
    "files": "labels of the files",
    "topics": "topics of the captions",
    "none": "no labels",
}
ORIGINS = {  # where labels come from if not from the files, as a sentence
    "topics": "Classes are topics, found by clustering the captions, not assigned by a person.",
    "groups": "Classes are groups of similar pictures, found by clustering, not assigned by a person.",
    "hand": "Classes were corrected by hand.",
    "edited": "Classes were found by clustering and then corrected by hand.",
}
WITHOUT_LABELS = "There are no labels: only methods that learn from pairs can be trained (CMFH, CVH, PDH)."
GUESSES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32)  # numbers of clusters
MAX_TOPICS = 50
SAMPLE_ITEMS = 2_000  # number of items for which the silhouette is measured
DIMENSIONS = 50  # to which tf-idf features of captions are reduced
NAME_WORDS = 2  # in the name of a topic
MIN_LETTERS = 2  # of a word in Latin letters
ENOUGH = 0.9  # share of the highest silhouette that the chosen number of clusters must reach
MAX_TOKENS = 5_000
OTHER = "other"  # topic of captions that have no word in common with others

Labels = Sequence[tuple[str, ...]]


def label_rows(rows: UploadedRows, source: str = "", topics: int = 0, by_hand: Labels | None = None) -> UploadedRows:
    """Return the rows with labels, and with class names as texts of pictures that have no caption.

    `source` is a key of LABEL_SOURCES; by default labels are those of the files, or else topics of the
    captions, or else groups of similar pictures. `topics` is the number of topics or groups; 0 means that
    it is guessed.
    """
    if rows.problems or not rows.items:
        return rows
    if by_hand is not None:
        if len(by_hand) != rows.items:
            raise InputError(
                f"Labels were assigned by hand to {len(by_hand):,} items, but the files have {rows.items:,}. "
                "Open the files again."
            )
        kind = "hand" if rows.labels is not None and source != "topics" else "edited"
        labels, notes = list(by_hand), [*rows.notes, ORIGINS[kind]]
        return name_captions(replace(rows, labels=labels, label_kind=kind, notes=notes))
    has_labels, texts = rows.labels is not None, rows.texts
    if source == "none" or (source != "topics" and not has_labels and not texts and not rows.pictures):
        return replace(rows, labels=None, label_kind="none", notes=[*rows.notes, WITHOUT_LABELS])
    if source == "topics" or not has_labels:
        if not texts and not rows.pictures:
            raise InputError("There are no captions to cluster into topics.")
        try:
            found = find_topics(texts, topics) if texts else _find_groups(rows, topics)
        except InputError as error:
            if source == "topics":
                raise
            notes = [*rows.notes, f"{error.problems[0]} {WITHOUT_LABELS}"]
            return replace(rows, labels=None, label_kind="none", notes=notes)
        kind = "topics" if texts else "groups"
        what = "captions were clustered into" if texts else "pictures were clustered by similarity into"
        note = f"The {what} {len(set(found)):,} {kind}, which are used as labels. {ORIGINS[kind]}"
        rows = replace(rows, labels=[(name,) for name in found], label_kind=kind, notes=[*rows.notes, note])
    return name_captions(rows)


def name_captions(rows: UploadedRows) -> UploadedRows:
    """Return the rows with class names as the texts of pictures that have a label but no caption."""
    if not rows.pictures or rows.labels is None:
        return rows
    captions = {name: list(texts) for name, texts in rows.captions.items()} or {"text": [""] * rows.items}
    without = 0
    for row, labels in enumerate(rows.labels):
        empty = [texts for texts in captions.values() if labels and not texts[row]]
        for texts in empty:
            texts[row] = class_text(labels)
        without += bool(empty)
    if not without:
        return rows
    which = "There are no captions" if without == rows.items else f"Items without a caption: {without:,}"
    note = f"{which}. The names of the classes are used as text."
    return replace(rows, captions=captions, notes=[*rows.notes, note])


def find_topics(captions: Sequence[str], count: int = 0, seed: int = 0) -> list[str]:
    """Return the topic of each caption, named by the words that distinguish it most from the others.

    Captions are clustered by tf-idf, without stop words and words that most captions have, reduced by a
    singular value decomposition.
    """
    from sklearn.decomposition import TruncatedSVD

    def is_telling(word: str) -> bool:
        return word not in STOP_WORDS and not (word.isascii() and len(word) < MIN_LETTERS)

    sentences = [" ".join(filter(is_telling, split_words(text))) for text in captions]
    try:
        encoder = fit_tf_idf(sentences, min_items=2, max_tokens=MAX_TOKENS)
    except InputError as error:
        raise InputError(
            "The captions cannot be clustered into topics, because no word occurs in two of them."
        ) from error
    counts = encoder.vocabulary.count(sentences)
    usual = np.bincount(counts.indices, minlength=counts.shape[1]) > len(captions) / 2
    X = counts if usual.all() else counts[:, ~usual]
    tokens = np.array(encoder.vocabulary.tokens)[slice(None) if usual.all() else ~usual]
    weights = np.asarray(encoder.weights)[slice(None) if usual.all() else ~usual]
    X = X.multiply(weights[None, :]).tocsr()
    X = X.multiply(1 / np.maximum(row_norms(X), EPS)[:, None]).tocsr()
    is_known = np.diff(X.indptr) > 0
    width = min(DIMENSIONS, min(X.shape) - 1)
    Z = TruncatedSVD(width, random_state=seed).fit_transform(X) if width > 1 else X.toarray()
    found = np.zeros(len(captions), dtype=np.int64)
    found[is_known] = cluster(Z[is_known], count, seed)
    topics = np.unique(found[is_known])
    means = np.stack([np.asarray(X[is_known & (found == topic)].mean(axis=0)).ravel() for topic in topics])
    names: dict[int, str] = {}
    for topic, contrast in zip(topics.tolist(), means - means.mean(axis=0), strict=True):
        best = np.argsort(-contrast, kind="stable")[:NAME_WORDS]
        name = " · ".join(tokens[[k for k in best if contrast[k] > 0 or k == best[0]]])
        names[topic] = f"{name} ({topic + 1})" if name in names.values() else name
    return [names[topic] if is_one else OTHER for topic, is_one in zip(found.tolist(), is_known, strict=True)]


def _find_groups(rows: UploadedRows, count: int) -> list[str]:
    """Return the group of each picture, clustered by network features; group 1 is the largest."""
    f = np.concatenate([picture.measurements.network for picture in rows.pictures]).astype(np.float32)
    found = cluster(f / np.maximum(row_norms(f), EPS)[:, None], count)
    order = np.argsort(-np.bincount(found), kind="stable").tolist()
    return [f"group {order.index(number) + 1}" for number in found.tolist()]


def cluster(Z: FloatArray, count: int = 0, seed: int = 0) -> IntArray:
    """Return the cluster of each row, found by k-means; if `count` is 0, their number is guessed."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(Z.round(6), axis=0))
    if distinct < 2:
        return np.zeros(len(Z), dtype=np.int64)
    sample = np.random.default_rng(seed).permutation(len(Z))[:SAMPLE_ITEMS]

    def fit(rows: FloatArray, k: int) -> IntArray:
        clusters: IntArray = KMeans(k, n_init=4, random_state=seed).fit_predict(rows)
        return clusters

    def quality(k: int) -> float:
        found = fit(Z[sample], k)
        several = 1 < len(np.unique(found)) < len(sample)
        return float(silhouette_score(Z[sample], found)) if several else -1.0

    with threadpool_limits(1, user_api="openmp"):
        if not count:
            tried = [k for k in GUESSES if k <= min(max(np.sqrt(len(Z)), 2), distinct)]
            qualities = np.array([quality(k) for k in tried])
            count = tried[int(np.argmax(qualities >= min(ENOUGH * qualities.max(), qualities.max())))]
        return fit(Z, min(count, distinct))


def rename_classes(labels: Labels, names: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the labels with new class names; equal names merge classes, an empty name deletes the class."""
    changed = ([names.get(name, name) for name in own] for own in labels)
    return [tuple(dict.fromkeys(filter(None, own))) for own in changed]


def labels_of_rows(data: MultimodalDataset) -> list[tuple[str, ...]]:
    """Return the names of the classes of each item."""
    names = np.array(data.class_names, dtype=object)
    return [tuple(names[own]) for own in data.labels]


def label_table(data: MultimodalDataset, labels: Labels) -> str:
    """Return a .csv table of the items and their labels, to be uploaded beside the pictures or matrices."""
    file, names, captions = io.StringIO(), data.item_names, data.captions
    write = csv.writer(file, lineterminator="\n").writerow
    write([*(["file"] if names else []), *(["caption"] if captions else []), "labels"])
    has_marks = any(mark in label for own in labels for label in own for mark in SEPARATORS[1:])
    end = SEPARATORS[0] if has_marks else ""  # so that no label is split at other marks when read
    for row, own in enumerate(labels):
        about = [*([names[row]] if names else []), *([captions[row]] if captions else [])]
        write([*about, SEPARATORS[0].join(own) + end])
    return file.getvalue()
