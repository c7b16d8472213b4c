"""Which rows train and which ask: official, random, or given."""

import numpy as np

from smfh.types import InputError, Split, unknown

SPLITS = ("default", "official", "random")


def resolve_split(
    split: str | Split, seed: int, items: int, official: Split | None = None, train_share: float = 0.75
) -> Split:
    """The split that is meant: `default` is the official one where there is one, else random."""
    if isinstance(split, Split):
        return split.check(items)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if split == "official" and official is None:
        raise InputError("This data set has no official split; use 'random' or a file of row numbers.")
    if split != "random" and official is not None:
        return official
    return random_split(items, train_share, seed)


def random_split(items: int, train_share: float, seed: int) -> Split:
    """A uniform draw without replacement; rows stay in the order of the data set."""
    order = np.random.default_rng(seed).permutation(items)
    cut = round(items * train_share)
    return Split(train=np.sort(order[:cut]), queries=np.sort(order[cut:]))


def carve_validation(split: Split, share: float, seed: int) -> Split:
    """Set a share of the training rows aside, so that choices never see a query."""
    order = np.random.default_rng(seed).permutation(split.train)
    cut = round(len(order) * share)
    return Split(train=np.sort(order[cut:]), queries=split.queries, validation=np.sort(order[:cut]))


def validation_as_queries(split: Split) -> Split:
    """The split on which choices are made: validation rows ask, the queries stay unseen."""
    return Split(train=split.train, queries=split.validation)
