"""The scores of a classifier's rankings in every direction, by both protocols."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np

from smfh.ceiling.classifiers import Posteriors, choose_classifier
from smfh.ceiling.ranking import Similarity, rank_classes, rank_whole
from smfh.types import BoolArray, FloatArray, MultimodalDataset, Split

MOST_ROWS = 5_000  # that a classifier is trained on
Search = tuple[str, str, str]  # modality of the queries, modality that is searched, protocol


@dataclass(frozen=True)
class Ceiling:
    """What tuned classifiers get from the same features and labels, without bits or a common space."""

    scores: Mapping[Search, Mapping[str, float]]  # by the name of the definition
    told: tuple[str, ...]  # which classifiers and similarities were chosen, in sentences


def measure_ceiling(
    data: MultimodalDataset, split: Split, on_progress: Callable[[str], None] = lambda told: None
) -> Ceiling:
    """A classifier for each modality; all choices are made on training rows, out of fold.

    The database has in it what codes may know of it. By the protocol "training" that is the labels of the
    training items, and a query's posteriors rank them. By "unseen" it is features alone: the posteriors of
    an item come from the classifier of the modality that is searched. No query's label is looked at before
    the rankings are scored.
    """
    rows = split.train
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    labels = data.labels[rows]
    chosen: dict[str, Posteriors] = {}
    for name, X in data.modalities.items():
        chosen[name] = choose_classifier(X[rows], labels, partial(_tell, on_progress, name))
    on_progress("ranking")
    held = {name: own.out_of_fold for name, own in chosen.items()}
    directions = list(permutations(chosen, 2))
    unseen = choose_similarity([(held[s], held[t]) for s, t in directions], labels)
    seen = choose_similarity([(P, labels.astype(np.float64)) for P in held.values()], labels)
    asked = {name: own(data.modalities[name][split.queries]) for name, own in chosen.items()}
    known, questions = data.labels[split.train], data.labels[split.queries]
    scores: dict[Search, Mapping[str, float]] = {}
    for source, target in directions:
        P = asked[source]
        scores[source, target, "training"] = rank_classes(P, known.astype(np.float64), questions, known, seen)
        scores[source, target, "unseen"] = rank_classes(P, asked[target], questions, questions, unseen)
    return Ceiling(scores, _in_words(chosen, seen, unseen, len(rows), len(split.train)))


def _tell(on_progress: Callable[[str], None], modality: str, setting: str) -> None:
    on_progress(f"{modality}: {setting}")


def choose_similarity(pairs: Sequence[tuple[FloatArray, FloatArray]], labels: BoolArray) -> Similarity:
    """The one that ranks the training rows best for each other, in the mean over pairs of P and Q."""

    def mean(similarity: Similarity) -> float:
        return float(np.mean([rank_whole(P, Q, labels, similarity) for P, Q in pairs]))

    return max(Similarity, key=mean)


def _in_words(
    chosen: Mapping[str, Posteriors], seen: Similarity, unseen: Similarity, rows: int, items: int
) -> tuple[str, ...]:
    classifiers = "; ".join(f"{name} by {own.told}" for name, own in chosen.items())
    drawn = f", trained on {rows:,} of {items:,} rows" if rows < items else ""
    return (
        f"Classifier: what the features allow. {classifiers}{drawn}; by cross-validation on training rows.",
        f"Training database: items are ranked by their labels, which codes have seen too ({seen.value}). "
        f"Unseen: by the posteriors of their own modality ({unseen.value}).",
    )
