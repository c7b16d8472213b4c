"""Which trainings each table and figure of the paper needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from smfh.comparison import Comparison
from smfh.datasets import DATASETS
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.paper.published import COLUMNS, TABLE_1, TIME_COLUMNS, TIMES

BENCHMARKS = tuple(
    dict.fromkeys([*TABLE_1, *(dataset for dataset, _ in TIME_COLUMNS)])
)  # the paper's data sets
STAND_IN = "emoji"  # where none of them is there
TABLE_BITS = tuple(sorted({bits for _, bits in COLUMNS}))
CURVE_BITS = (16, 32, 64, 128)  # of Figure 2; its own are not told
FIGURE_BITS = 64  # of Figures 3 and 4
SAMPLES = tuple(range(200, 2001, 200))  # m of Figure 4a
SEEDS = 5
IN_TABLE_1 = {method for by_task in TABLE_1.values() for rows in by_task.values() for method in rows}
# ours, the text, the authors' program, and the rivals of the text
PAPER_METHODS = ("smfh-plus", "smfh", "smfh-program", *(n for n in METHODS if n in IN_TABLE_1 - {"smfh"}))

Plan = Callable[[str, Sequence[str], int], Comparison]  # data set, methods, number of seeds


@dataclass(frozen=True)
class Part:
    """A table or a figure: what the paper shows in it, and what has to be trained for it."""

    name: str
    title: str
    in_paper: str
    plan: Plan


def runnable(dataset: str) -> list[str]:
    """What is missing before this data set can be measured; empty when it is ready."""
    if dataset not in DATASETS:
        return [f"There is no loader for {dataset}."]
    return DATASETS[dataset]().missing()


def paper_method(name: str, dataset: str, **changed: Any) -> HashMethod:
    """The method with the setting that the paper names for this data, or the one nearest to its table."""
    offered = METHODS[name].preset_names(dataset)
    named = next((choice for choice in (dataset, "paper") if choice in offered), None)
    values = {} if named is None else METHODS[name].preset_values(named)
    return make_method(name, **values | changed)


def over_bits(lengths: Sequence[int], dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """Every method at these lengths."""
    chosen = tuple(paper_method(name, dataset) for name in methods)
    return Comparison(DATASETS[dataset](), chosen, tuple(lengths), seeds)


def over_samples(dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """SMFH with every m, whichever methods are chosen."""
    samples = tuple(paper_method("smfh", dataset, graph_sample=m) for m in SAMPLES)
    return Comparison(DATASETS[dataset](), samples, (FIGURE_BITS,), seeds)


def of_convergence(dataset: str, methods: Sequence[str], seeds: int) -> Comparison:
    """SMFH once: a mean of traces would hide what a single one does."""
    return Comparison(DATASETS[dataset](), (paper_method("smfh", dataset),), (FIGURE_BITS,), 1)


PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part(
            "table-1",
            "Table 1: mAP and Precision@100",
            "The paper has it for Wiki and NUS-WIDE.",
            partial(over_bits, TABLE_BITS),
        ),
        Part(
            "table-2", "Table 2: training time", "The paper has it for all three.", partial(over_bits, TIMES)
        ),
        Part(
            "figure-2",
            "Figure 2: mAP over code length",
            "The paper has it for PASCAL-Sentence, as a picture without numbers. Crosses are Table 1's.",
            partial(over_bits, CURVE_BITS),
        ),
        Part(
            "figure-3",
            "Figure 3: precision and recall among the first K, 64 bits",
            "The paper has it for Wiki and NUS-WIDE, as a picture without numbers. Crosses are "
            "Table 1's Precision@100.",
            partial(over_bits, (FIGURE_BITS,)),
        ),
        Part(
            "figure-4a",
            "Figure 4a: mAP over the graph sample m, SMFH, 64 bits",
            "The paper has it for Wiki, as a picture without numbers. Crosses are Table 1's, at the m "
            "that it was measured with.",
            over_samples,
        ),
        Part(
            "figure-4b",
            "Figure 4b: convergence, SMFH, 64 bits",
            "The paper has it for Wiki with m = 1,000, as a picture without numbers.",
            of_convergence,
        ),
    )
}
