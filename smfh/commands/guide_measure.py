"""Measure the scores in the tables of README and guide: every function returns what one file will hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from smfh.bench.measure import machine
from smfh.commands.options import progress_bar
from smfh.datasets import DATASETS, DatasetCard, DatasetSource, Emoji, Loaded, OnProgress, Planted, Wiki
from smfh.datasets.splits import resolve_split
from smfh.experiments.comparison import (
    Comparison,
    Grid,
    View,
    best_method,
    default_comparison,
    points,
    query_precisions,
    train_grid,
)
from smfh.experiments.robustness import DEFAULT_SHARES, corrupted_grids, robustness_points
from smfh.folders import cache_folder
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.hashing.kernelised import SAME_FEATURES
from smfh.metrics import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.significance import compare_pairs
from smfh.paper.plan import PAPER_METHODS, paper_method
from smfh.paper.tables import DEFINITIONS, MEASURED_SEEDS
from smfh.retrieval.classifiers import rank_by_kernel_ridge
from smfh.retrieval.evaluation import PROTOCOLS, evaluate
from smfh.runs import RunStore, SavedRuns, ensure_saved
from smfh.types import InputError, MultimodalDataset, Split

SETS, ROBUSTNESS_SEEDS = ("wiki", "emoji"), 2
DIRECTIONS = ("text → image", "image → text")
NEWER = ("smfh-plus", "dch", "scratch", "batch", "class-codes")
EQUAL_SETS = ("wiki", "emoji-groups", "planted", "digits")
EQUAL_BITS, RIVALS = (16, 32, 64, 128), ("dch", "scratch", "batch")
FIRST, GROUP_GAIN, SUBGROUP_GAIN = 12, 1.0, 2.0  # of the table of fine labels
FINE = {
    "nine groups": ("emoji-groups", {}),
    'nine groups, preset "fine"': ("emoji-groups", preset("smfh-plus", "fine")),
    "groups and subgroups, equal weights": ("emoji", {"rarity": 0.0}),
    "groups and subgroups": ("emoji", {}),
}


@dataclass(frozen=True)
class Digits(DatasetSource):
    """A data set with signed features: principal components of the halves of scikit-learn's digits."""

    name = "digits"
    card = DatasetCard("Digits", "Handwritten digits in two halves.", "1,797 digits", "BSD", "scikit-learn")
    dimensions: ClassVar[int] = 20

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        from sklearn.datasets import load_digits
        from sklearn.decomposition import PCA

        pixels, digits = load_digits(return_X_y=True)
        rows = resolve_split(split, seed, len(pixels))
        halves = {"upper": pixels[:, :32], "lower": pixels[:, 32:]}
        signed = {
            name: PCA(self.dimensions, svd_solver="full").fit(half[rows.train]).transform(half).astype(np.float32)
            for name, half in halves.items()
        }
        return MultimodalDataset(self.name, signed, digits[:, None] == range(10), tuple("0123456789")), rows


PLANTED = Planted(items=1200, classes=10, labels_per_item=2, noise=0.5)
SOURCES: dict[str, DatasetSource] = {
    "wiki": Wiki(),
    "emoji": Emoji(),
    "emoji-groups": Emoji(labels="group"),
    "planted": PLANTED,
    "digits": Digits(),
}


def here_and_today() -> str:
    return f"{machine()}, {datetime.now(UTC).date().isoformat()}"


def settings(part: str) -> list[tuple[str, str, HashMethod]]:
    """Return the runs of some tables as (data set, name in the file, method), without seeds."""
    if part == "groups":
        return [("emoji-groups", "smfh-plus", best_method("smfh-plus", "emoji").set_params(bits=16))]
    if part == "paper":
        return [
            ("wiki", f"{name} paper", paper_method(name, "wiki").set_params(bits=bits))
            for name, bits in product(PAPER_METHODS, (32, 64, 128))
        ]
    whole = make_method("smfh-plus", **METHODS["smfh-plus"].preset_values("whole ranking"))
    chosen: list[tuple[str, str, HashMethod]] = []
    for dataset in SETS:
        for name in NEWER:
            best = best_method(name, dataset)
            chosen += [(dataset, name, best.set_params(bits=bits)) for bits in (16, 64)]
        chosen.append((dataset, "smfh-plus", best_method("smfh-plus", dataset).set_params(bits=8)))
        chosen.append((dataset, "smfh-plus whole ranking", whole))
        chosen.append((dataset, "smfh", make_method("smfh")))
    return chosen


def measure(chosen: Sequence[tuple[str, str, HashMethod]]) -> dict[str, dict[str, float]]:
    """Train the missing runs; return means and deviations over seeds by data set, method, bits and search."""
    store, rows = RunStore(), list[dict[str, Any]]()
    loaded = {name: (SOURCES[name], *SOURCES[name].load()) for name in dict.fromkeys(d for d, _, _ in chosen)}
    with progress_bar(len(chosen) * MEASURED_SEEDS, "run") as bar:
        for (dataset, name, method), seed in product(chosen, range(MEASURED_SEEDS)):
            source, data, split = loaded[dataset]
            record = ensure_saved(store, source, method.set_params(seed=seed), data, split)
            for way, protocol, distance in product(DIRECTIONS, PROTOCOLS, DISTANCES):
                scores = store.scores(record, data, split, *way.split(" → "), protocol, distance)
                rows.append(
                    {"search": f"{dataset} {name} {method.bits} {protocol} {distance} {way}"}
                    | {measure: one.mean for measure, one in scores.average_precision.items()}
                    | {"ndcg": scores.ndcg_at_100, "chance": scores.average_precision["found"].chance}
                    | {"codes": scores.distinct_codes or 0}
                )
            bar.update()
    by_search = pd.DataFrame(rows).groupby("search", sort=False)
    deviations = by_search[[*DEFINITIONS.values()]].std().add_suffix(" deviation")
    found: dict[str, dict[str, float]] = by_search.mean().join(deviations).round(4).to_dict("index")
    return found


def measure_fine() -> list[dict[str, Any]]:
    """Train SMFH+ with coarse and with fine labels; return scores by the fine labels of Emoji.

    All rows are scored with the groups and subgroups as labels, whichever labels they were trained with.
    """
    store, rows, fine = RunStore(), list[dict[str, Any]](), SOURCES["emoji"].load()[0]
    groups = np.isin(fine.class_names, SOURCES["emoji-groups"].load()[0].class_names)
    gains, first = np.where(groups, GROUP_GAIN, SUBGROUP_GAIN), {"first": APDefinition(FIRST, "depth")}
    judges = {
        "group": replace(fine, labels=fine.labels & groups),
        "subgroup": replace(fine, labels=fine.labels & ~groups),
    }
    with progress_bar(len(FINE) * MEASURED_SEEDS, "run") as bar:
        for (name, (dataset, values)), seed in product(FINE.items(), range(MEASURED_SEEDS)):
            source = SOURCES[dataset]
            data, split = source.load()
            method = make_method("smfh-plus", **values).set_params(seed=seed)
            hasher = store.hasher(ensure_saved(store, source, method, data, split))
            for distance, way in product(DISTANCES, DIRECTIONS):
                a, b = way.split(" → ")
                search = (a, b, "training", distance)
                scores = evaluate(hasher, fine, split, *search, label_gains=gains)
                one = {"labels": name, "distance": distance, "direction": way}
                one |= {"ndcg": scores.ndcg_at_100, "map": scores.mean_average_precision}
                for judge, labelled in judges.items():
                    shares = evaluate(hasher, labelled, split, *search, definitions=first)
                    one[judge] = shares.average_precision["first"].mean
                rows.append(one | {"codes": scores.distinct_codes or 0})
            bar.update()
    means = pd.DataFrame(rows).groupby(["labels", "distance", "direction"], sort=False).mean().round(4)
    found: list[dict[str, Any]] = means.reset_index().to_dict("records")
    return found


def measure_kernel_ridge() -> dict[str, dict[str, float]]:
    """Rank by kernel ridge regression without codes; return scores by data set and search."""
    found = {}
    for dataset in ("wiki", "emoji-groups"):
        data, split = SOURCES[dataset].load()
        for (a, b, protocol), scores in rank_by_kernel_ridge(data, split, split.train)[0].items():
            found[f"{dataset} {protocol} {a} → {b}"] = {name: round(scores[name], 4) for name in HEADLINE}
    return found


def measure_equal(seeds: int) -> dict[str, Any]:
    """Compare SMFH+ with newer methods by paired tests; return a row per comparison.

    The rivals have the features of SMFH+ or, with 64 bits, also their own "strong" features. Each pair is
    tested alone, without a correction for the number of pairs.
    """
    columns = "data rival features bits measure direction protocol distance difference result codes rival_codes"
    ours, rows = make_method("smfh-plus"), list[list[Any]]()
    same = [make_method(name, **preset(name, SAME_FEATURES)) for name in RIVALS]
    strong = [make_method(name, **preset(name, "strong")) for name in RIVALS]
    DATASETS[Digits.name] = Digits  # in this process only, so that its saved runs can be read
    for dataset in EQUAL_SETS:
        source = SOURCES[dataset]
        loaded, store = source.load(), RunStore(cache_folder() / "digits" if dataset == "digits" else None)
        for features, rivals, bits in (
            ("same", same, EQUAL_BITS),
            ("strong", strong, (64,)),
            ("same", [make_method("class-codes")], (64,)),
        ):
            grid = Grid(Comparison(source, (ours, *rivals), bits, seeds), *loaded)
            with progress_bar(len(grid.keys), "run", desc=f"{dataset}, {features} features") as bar:
                if problems := train_grid(grid, store, lambda progress: bar.update(progress.done - bar.n)):
                    raise InputError([why for whys in problems.values() for why in whys])
            print(f"{dataset}, {features} features: {len(grid.keys)} runs are saved", flush=True)
            for rival, length in product(rivals, bits):
                rows += [
                    [dataset, rival.name, features, length, *row] for row in _compare(grid, store, ours, rival, length)
                ]
    return {"seeds": seeds, "measured": here_and_today(), "columns": columns.split(), "rows": rows}


def _compare(grid: Grid, store: SavedRuns, ours: HashMethod, rival: HashMethod, bits: int) -> list[list[Any]]:
    """Return the rows of one rival at one code length: every measure, direction, database and distance."""
    rows = []
    for distance, protocol, way, measure in product(DISTANCES, PROTOCOLS, grid.directions, HEADLINE):
        view = View(*way, measure, protocol, bits, distance=distance)
        AP = query_precisions(grid, store, view)
        (pair,) = compare_pairs({title: AP[title] for title in (ours.title, rival.title)})
        is_ahead = pair.first == ours.title
        result = ("win" if is_ahead else "loss") if pair.is_clear else "tie"
        codes = {point.title: point.mean for point in points(grid, store, view, "distinct_codes") if point.at == bits}
        about = [AP_DEFINITIONS[measure].label, view.direction, protocol, distance]
        difference = round(pair.mean if is_ahead else -pair.mean, 4)
        rows.append([*about, difference, result, round(codes[ours.title], 1), round(codes[rival.title], 1)])
    return rows


def measure_robustness() -> list[dict[str, Any]]:
    """Train all methods with wrong labels; return the curves by data set, database and method.

    A curve has the mean over seeds and over both directions at every share.
    """
    curves: list[dict[str, Any]] = []
    for dataset in SETS:
        source = SOURCES[dataset]
        comparison = replace(default_comparison(source), bits=(64,), seeds=ROBUSTNESS_SEEDS)
        grids = corrupted_grids(Grid(comparison, *source.load()), "wrong_labels", DEFAULT_SHARES)
        store = RunStore()
        for grid in grids.values():
            train_grid(grid, store)
        for protocol in PROTOCOLS:
            views = [View(s, t, "found", protocol, 64) for s, t in (d.split(" → ") for d in DIRECTIONS)]
            both = [robustness_points(grids, store, view) for view in views]
            for title in comparison.titles.values():
                own = [[point.mean for point in points if point.title == title] for points in both]
                means = [round(float(value), 4) for value in np.mean(own, axis=0)]
                curves.append({"data": dataset, "database": protocol, "method": title, "scores": means})
    return curves
