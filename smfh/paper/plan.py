"""The runs that each table and figure of the paper needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from smfh.datasets import DATASETS, DatasetSource, make_source
from smfh.experiments.comparison import Comparison, Grid, GridProgress, name_training, train_grid
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.jobs import Call, here
from smfh.paper.published import COLUMNS, TABLE_1, TABLE_2_BITS, TIME_COLUMNS
from smfh.runs import RunStore
from smfh.types import InputError, Split

BENCHMARKS = tuple(dict.fromkeys([*TABLE_1, *(dataset for dataset, _ in TIME_COLUMNS)]))
STAND_IN = "emoji"  # used if none of the paper's data sets is available
OPTIONS: Mapping[str, Mapping[str, str]] = {STAND_IN: {"labels": "group"}}  # one label per item, as on Wiki
TABLE_BITS = tuple(sorted({bits for _, bits in COLUMNS}))
CURVE_BITS = (16, 32, 64, 128)  # of Figure 2; the paper does not state its code lengths
FIGURE_BITS = 64  # of Figures 3 and 4
SAMPLES = tuple(range(200, 2001, 200))  # m of Figure 4a
SEEDS = 5
IN_TABLE_1 = {method for by_task in TABLE_1.values() for rows in by_task.values() for method in rows}
PAPER_METHODS = ("smfh-plus", "smfh", "smfh-program", *(n for n in METHODS if n in IN_TABLE_1 - {"smfh"}))


def runnable(dataset: str) -> list[str]:
    """Return messages about what is missing to measure a data set; empty if it is ready."""
    return DATASETS[dataset]().missing() if dataset in DATASETS else [f"There is no loader for {dataset}."]


def paper_source(dataset: str) -> DatasetSource:
    """Return a data set with the options used for the paper's tables and figures."""
    return make_source(dataset, **OPTIONS.get(dataset, {}))


def paper_method(name: str, dataset: str, **changed: Any) -> HashMethod:
    """Return a method with the paper's settings for this data set, else its "paper" preset or defaults."""
    offered = METHODS[name].preset_names(dataset)
    preset = next((choice for choice in (dataset, "paper") if choice in offered), None)
    values = {} if preset is None else METHODS[name].preset_values(preset)
    return make_method(name, **values | changed)


def methods_by_bits(lengths: Sequence[int], dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """Return the comparison of these methods at these code lengths, with the paper's settings."""
    chosen = tuple(paper_method(name, dataset) for name in methods)
    return Comparison(paper_source(dataset), chosen, tuple(lengths), seeds)


def smfh_by_sample(dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """Return the comparison of SMFH with each graph sample m; `methods` is ignored."""
    samples = tuple(paper_method("smfh", dataset, graph_sample=m) for m in SAMPLES)
    return Comparison(paper_source(dataset), samples, (FIGURE_BITS,), seeds)


def smfh_once(dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """Return a comparison with one run of SMFH, for its trace; `methods` and `seeds` are ignored."""
    return Comparison(paper_source(dataset), (paper_method("smfh", dataset),), (FIGURE_BITS,), 1)


def train_comparison(
    comparison: Comparison,
    store: RunStore,
    split: str | Split = "default",
    split_seed: int = 0,
    on_progress: Callable[[GridProgress], None] = lambda progress: None,
    call: Call = here,
    at_once: int = 1,
) -> Grid:
    """Train the missing runs of a comparison and return its grid; raise InputError if a run fails."""
    grid = Grid(comparison, *comparison.source.load(split, split_seed))
    if problems := train_grid(grid, store, on_progress, call=call, at_once=at_once):
        raise InputError([f"{name_training(run)}: {why}" for run, whys in problems.items() for why in whys])
    return grid


@dataclass(frozen=True)
class Part:
    """A table or figure: which data the paper shows in it, and the runs needed to measure it."""

    title: str
    in_paper: str
    plan: Callable[[str, Sequence[str], int], Comparison]  # called with data set, methods, number of seeds


PARTS: Mapping[str, Part] = {
    "table-1": Part(
        "Table 1: mAP and Precision@100",
        "Shown in the paper for Wiki and NUS-WIDE.",
        partial(methods_by_bits, TABLE_BITS),
    ),
    "table-2": Part(
        "Table 2: training time", "Shown in the paper for all three data sets.", partial(methods_by_bits, TABLE_2_BITS)
    ),
    "figure-2": Part(
        "Figure 2: mAP by code length",
        "Shown in the paper for PASCAL-Sentence, without numbers. Crosses are from Table 1.",
        partial(methods_by_bits, CURVE_BITS),
    ),
    "figure-3": Part(
        "Figure 3: precision and recall of the first K results, 64 bits",
        "Shown in the paper for Wiki and NUS-WIDE, without numbers. Crosses are Precision@100 from Table 1.",
        partial(methods_by_bits, (FIGURE_BITS,)),
    ),
    "figure-4a": Part(
        "Figure 4a: mAP by graph sample m, SMFH, 64 bits",
        "Shown in the paper for Wiki, without numbers. Crosses are from Table 1, at the m used there.",
        smfh_by_sample,
    ),
    "figure-4b": Part(
        "Figure 4b: convergence, SMFH, 64 bits",
        "Shown in the paper for Wiki with m = 1,000, without numbers.",
        smfh_once,
    ),
}
