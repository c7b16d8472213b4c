"""Table 1 of the paper, published beside measured, for the data that is at hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from smfh.datasets import DATASETS
from smfh.hashing import METHODS, make_method
from smfh.study import direction_scores
from smfh.types import MultimodalDataset, Split

TASKS = MappingProxyType({"text->image": "Task 1", "image->text": "Task 2"})
COLUMNS = (("map", 32), ("map", 64), ("map", 128), ("p_at_100", 32), ("p_at_100", 64))

# Liu, Ji, Wu & Hua, IJCAI 2016, Table 1, columns as above.
TABLE_1: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]] = MappingProxyType(
    {
        "wiki": {
            "text->image": {
                "cvh": (0.2053, 0.1872, 0.2039, 0.1504, 0.1324),
                "pdh": (0.2034, 0.2047, 0.2133, 0.1765, 0.1725),
                "cmfh": (0.5947, 0.6063, 0.6131, 0.5492, 0.5649),
                "smh": (0.3831, 0.4032, 0.4171, 0.3135, 0.3400),
                "smfh": (0.6039, 0.6602, 0.6658, 0.5581, 0.6246),
            },
            "image->text": {
                "cvh": (0.1660, 0.1479, 0.1572, 0.1280, 0.1170),
                "pdh": (0.2442, 0.2360, 0.2685, 0.2058, 0.1945),
                "cmfh": (0.2081, 0.2111, 0.2270, 0.1691, 0.1678),
                "smh": (0.2301, 0.2503, 0.2570, 0.1953, 0.2186),
                "smfh": (0.2516, 0.2581, 0.2496, 0.2168, 0.2330),
            },
        },
        "nus-wide": {
            "text->image": {
                "cvh": (0.4480, 0.4184, 0.4012, 0.4606, 0.4281),
                "pdh": (0.5008, 0.5078, 0.5336, 0.4885, 0.5018),
                "cmfh": (0.3807, 0.3787, 0.3663, 0.3764, 0.3750),
                "smh": (0.5978, 0.6162, 0.6195, 0.6007, 0.6194),
                "smfh": (0.5462, 0.6633, 0.6247, 0.5478, 0.6757),
            },
            "image->text": {
                "cvh": (0.4592, 0.4260, 0.4021, 0.4700, 0.4333),
                "pdh": (0.5129, 0.5260, 0.5377, 0.4988, 0.5224),
                "cmfh": (0.3818, 0.3774, 0.3664, 0.3787, 0.3766),
                "smh": (0.5823, 0.6020, 0.6089, 0.5829, 0.6039),
                "smfh": (0.5938, 0.6325, 0.6175, 0.5985, 0.6380),
            },
        },
    }
)


@dataclass(frozen=True)
class Cell:
    """One number of the table: what the paper prints and what was measured here."""

    dataset: str
    direction: str
    method: str
    measure: str  # "map" or "p_at_100"
    bits: int
    published: float | None  # None: the paper has no such method
    mean: float
    std: float  # over seeds
    seeds: int

    @property
    def difference(self) -> float | None:
        return None if self.published is None else self.mean - self.published


def runnable(dataset: str) -> list[str]:
    """What is missing for this half of the table; empty when it can be measured."""
    if dataset not in DATASETS:
        return [f"There is no loader for {dataset}."]
    return DATASETS[dataset]().missing()


def measure_table(
    dataset: str,
    methods: Sequence[str],
    seeds: int,
    split: str | Split = "default",
    on_run: Callable[[str], None] | None = None,
) -> list[Cell]:
    """Train every method at every length with every seed, and put the scores beside the paper's."""
    data, rows = DATASETS[dataset]().load(split)
    return [
        cell
        for method in methods
        for cell in _method_cells(dataset, method, data, rows, seeds, on_run or (lambda _: None))
    ]


def _method_cells(
    dataset: str, name: str, data: MultimodalDataset, split: Split, seeds: int, on_run: Callable[[str], None]
) -> Iterator[Cell]:
    train = data.take(split.train)
    runs: dict[int, list[dict[str, dict[str, float]]]] = {}
    for bits in sorted({bits for _, bits in COLUMNS}):
        for seed in range(seeds):
            on_run(f"{name}, {bits} bits, seed {seed}")
            method = make_method(name, bits=bits, seed=seed, **_paper_preset(name, dataset))
            scores = direction_scores(method.fit(train), data, split, protocols=["training"])
            runs.setdefault(bits, []).append(scores)
    for direction in TASKS:
        published = TABLE_1[dataset][direction].get(name)
        for column, (measure, bits) in enumerate(COLUMNS):
            values = [scores[direction][measure] for scores in runs[bits]]
            yield Cell(
                dataset,
                direction,
                name,
                measure,
                bits,
                None if published is None else published[column],
                float(np.mean(values)),
                float(np.std(values)),
                seeds,
            )


def _paper_preset(name: str, dataset: str) -> dict[str, Any]:
    """The setting that the paper names for this data, or the one nearest to its table."""
    presets = METHODS[name].presets
    return dict(presets.get(dataset) or presets.get("paper") or {})


def as_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Plain rows for JSON and CSV."""
    return [asdict(cell) | {"difference": cell.difference} for cell in cells]


def as_text(cells: Sequence[Cell]) -> str:
    """The table as the paper lays it out, measured ± deviation above published."""
    lines = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        for direction, task in TASKS.items():
            lines += [f"{dataset}, {task} ({direction})", _line("", [_heading(*c) for c in COLUMNS])]
            for method in dict.fromkeys(cell.method for cell in cells):
                row = [c for c in cells if (c.dataset, c.direction, c.method) == (dataset, direction, method)]
                lines.append(_line(METHODS[method].title, [f"{c.mean:.3f} ± {c.std:.3f}" for c in row]))
                if row and row[0].published is not None:
                    lines.append(
                        _line("  published", [f"{c.published:.3f} ({c.difference:+.3f})" for c in row])
                    )
            lines.append("")
    return "\n".join(lines)


def _heading(measure: str, bits: int) -> str:
    return f"{'mAP@100' if measure == 'map' else 'P@100'}, {bits} bits"


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{first:<12}" + "".join(f"{cell:>18}" for cell in cells)
