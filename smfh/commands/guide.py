"""Write the tables of README and guide from measured scores and benchmarks, so that no number is typed in.

The measurements are in three files of assets/guide: measured.json (scores with `--measure`, speed with
`--bench`), robustness.json (`--robustness`) and equal.json (`--equal`). Each table stands between two comments
in the Markdown file; everything else in the file is left as it is.
"""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from smfh.bench.measure import machine
from smfh.commands import guide_search
from smfh.commands.options import progress_bar, use_data_folder
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
from smfh.folders import app_folder, cache_folder
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.hashing.kernelised import SAME_FEATURES
from smfh.metrics import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.significance import compare_pairs, signed
from smfh.paper.plan import PAPER_METHODS, paper_method
from smfh.paper.published import COLUMNS, ROW, published_score
from smfh.paper.tables import DEFINITIONS, MEASURED, MEASURED_SEEDS
from smfh.plots import Axis, draw_figure, score_curves
from smfh.plots.chart import Row
from smfh.plots.paper_figure import figure_parts
from smfh.retrieval.evaluation import PROTOCOLS, evaluate
from smfh.runs import RunStore, SavedRuns, ensure_saved
from smfh.types import InputError, MultimodalDataset, Point, Split

EPILOG = """examples:
  python -m smfh guide                        write the tables
  python -m smfh guide --measure              train and score everything first (an hour)
  python -m smfh guide --measure groups fine  only some tables: nine groups, and fine labels
  python -m smfh guide --equal                compare methods that have equal features (an hour)
  python -m smfh guide --robustness           train with wrong labels and score (about ten minutes)
  python -m smfh guide --search               count sensible results of typed words (two minutes)
  python -m smfh bench --json > speed.json && python -m smfh guide --bench speed.json"""
ROBUSTNESS_FIGURE = Path("assets", "guide", "robustness.svg")
ROBUSTNESS, EQUAL = Path("assets", "guide", "robustness.json"), Path("assets", "guide", "equal.json")
FILES = ("README.md", *(f"assets/guide/{name}.md" for name in ("results", "search", "speed")))
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
PARTS = {  # that can be measured on their own, and the tables in which they are
    "overview": "SMFH+ and newer methods",
    "paper": "Table 1 of the paper",
    "groups": "Emoji with nine groups",
    "fine": "fine labels",
}
SETS, ROBUSTNESS_SEEDS = ("wiki", "emoji"), 2
TITLES = {
    "wiki": "Wiki",
    "emoji": "Emoji, groups and subgroups",
    "emoji-groups": "Emoji, nine groups",
    "planted": "Planted",
    "digits": "Digits, signed",
}
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
Scores = dict[str, Any]  # "dataset method bits protocol distance direction" → measure → mean


@dataclass(frozen=True)
class Digits(DatasetSource):
    """Signed features: the upper and the lower half of scikit-learn's digits, as principal components."""

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


SOURCES: dict[str, DatasetSource] = {
    "wiki": Wiki(),
    "emoji": Emoji(),
    "emoji-groups": Emoji(labels="group"),
    "planted": Planted(items=1200, classes=10, labels_per_item=2, noise=0.5),
    "digits": Digits(),
}


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    words = f"train the methods of all tables first, or of some: {', '.join(PARTS)}; saved runs are reused"
    add("--measure", nargs="*", choices=[*PARTS], metavar="TABLE", help=words)
    add("--equal", action="store_true", help="compare methods with equal features first; saved runs are reused")
    add("--seeds", type=int, default=MEASURED_SEEDS, help=f"of --equal (default {MEASURED_SEEDS})")
    add("--robustness", action="store_true", help="train with wrong labels first; saved runs are reused")
    add("--search", action="store_true", help="count sensible results of typed words first (two minutes)")
    add("--bench", metavar="FILE", help="take over the output of `bench --json`")
    add("--data", metavar="FOLDER", help="folder with the benchmark files (default: SMFH_DATA)")


def run(arguments: Namespace) -> None:
    use_data_folder(arguments)
    measured = read_measured()
    if arguments.measure is not None:
        for part in arguments.measure or PARTS:
            if part == "fine":
                measured["fine"] = measure_fine()
            else:
                measured["scores"] = measured.get("scores", {}) | measure(settings(part))
            measured["measured"] = measured.get("measured", {}) | {part: here_and_today()}
    if arguments.bench:
        measured["bench"] = json.loads(Path(arguments.bench).read_text(encoding="utf-8"))
    if arguments.equal:
        measured["equal"] = measure_equal(arguments.seeds)
    if arguments.robustness:
        measured["robustness"] = measure_robustness()
    if "robustness" in measured:
        (app_folder() / ROBUSTNESS_FIGURE).write_bytes(robustness_svg(measured["robustness"]))
    if arguments.search:
        measured["search"] = guide_search.measure_search()
    own_files = {"robustness": ROBUSTNESS, "equal": EQUAL, "search": guide_search.FILE}
    for name, path in own_files.items():
        if name in measured:
            (app_folder() / path).write_text(as_json(measured[name]), encoding="utf-8")
    if rest := {name: value for name, value in measured.items() if name not in own_files}:
        (app_folder() / MEASURED).write_text(as_json(rest), encoding="utf-8")
    for name in FILES:
        path = app_folder() / name
        path.write_text(with_tables(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"wrote the tables of {name}")


def read_measured() -> dict[str, Any]:
    """Return all measurements from their files; those of files that are missing are left out."""
    measured: dict[str, Any] = {}
    for name, path in (("", MEASURED), ("robustness", ROBUSTNESS), ("equal", EQUAL), ("search", guide_search.FILE)):
        if (file := app_folder() / path).is_file():
            values = json.loads(file.read_text(encoding="utf-8"))
            measured |= {name: values} if name else values
    return measured


def as_json(values: Any) -> str:
    """Return values as JSON, with the innermost lists on one line each."""
    text = json.dumps(values, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text) + "\n"


def here_and_today() -> str:
    return f"{machine()}, {datetime.now(UTC).date().isoformat()}"


def settings(part: str) -> list[tuple[str, str, HashMethod]]:
    """Return data set, name in the file and method of every run of some tables, without seeds."""
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


def measure(chosen: Sequence[tuple[str, str, HashMethod]]) -> Scores:
    """Train or find all runs, and return the means and deviations of their scores over the seeds."""
    store, means = RunStore(), dict[str, Any]()
    loaded = {name: (SOURCES[name], *SOURCES[name].load()) for name in dict.fromkeys(d for d, _, _ in chosen)}
    with progress_bar(len(chosen) * MEASURED_SEEDS, "run") as bar:
        for dataset, name, method in chosen:
            source, data, split = loaded[dataset]
            found: dict[str, list[dict[str, float]]] = {}
            for seed in range(MEASURED_SEEDS):
                record = ensure_saved(store, source, method.set_params(seed=seed), data, split)
                for (a, b), protocol, distance in _searches():
                    scores = store.scores(record, data, split, a, b, protocol, distance)
                    key = f"{dataset} {name} {method.bits} {protocol} {distance} {a} → {b}"
                    ap = {k: one.mean for k, one in scores.average_precision.items()}
                    chance = scores.average_precision["found"].chance
                    one = {**ap, "ndcg": scores.ndcg_at_100, "chance": chance, "codes": scores.distinct_codes or 0}
                    found.setdefault(key, []).append(one)
                bar.update()
            for key, runs in found.items():
                means[key] = {k: round(float(np.mean([run[k] for run in runs])), 4) for k in runs[0]}
                for k in DEFINITIONS.values():
                    means[key][f"{k} deviation"] = round(float(np.std([run[k] for run in runs], ddof=1)), 4)
    return means


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
        for name, (dataset, values) in FINE.items():
            found: dict[tuple[str, str], list[dict[str, float]]] = {}
            source = SOURCES[dataset]
            data, split = source.load()
            for seed in range(MEASURED_SEEDS):
                method = make_method("smfh-plus", **values).set_params(seed=seed)
                hasher = store.hasher(ensure_saved(store, source, method, data, split))
                for distance, way in product(DISTANCES, DIRECTIONS):
                    a, b = way.split(" → ")
                    search = (a, b, "training", distance)
                    scores = evaluate(hasher, fine, split, *search, label_gains=gains)
                    one = {"ndcg": scores.ndcg_at_100, "map": scores.mean_average_precision}
                    for judge, labelled in judges.items():
                        shares = evaluate(hasher, labelled, split, *search, definitions=first)
                        one[judge] = shares.average_precision["first"].mean
                    found.setdefault((distance, way), []).append(one | {"codes": scores.distinct_codes or 0})
                bar.update()
            for (distance, way), runs in found.items():
                means = {k: round(float(np.mean([run[k] for run in runs])), 4) for k in runs[0]}
                rows.append({"labels": name, "distance": distance, "direction": way} | means)
    return rows


def measure_equal(seeds: int) -> dict[str, Any]:
    """Compare SMFH+ with newer methods by the paired test of Compare; return a row per comparison.

    The rivals have the features of SMFH+ or, with 64 bits, also their own "strong" features. Each pair is
    tested on its own.
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


def _searches() -> list[tuple[tuple[str, str], str, str]]:
    ways = [tuple(direction.split(" → ")) for direction in DIRECTIONS]
    return [((a, b), protocol, distance) for a, b in ways for protocol in PROTOCOLS for distance in DISTANCES]


def with_tables(text: str, measured: dict[str, Any]) -> str:
    """Return the Markdown text with every marked table written anew."""

    def write(match: re.Match[str]) -> str:
        name = match[2]
        if name not in TABLES:
            raise InputError(f"There is no table {name}; there are {', '.join(TABLES)}.")
        if NEEDS.get(name, "scores") not in measured:
            return match[0]  # not measured yet
        return f"{match[1]}{TABLES[name](measured)}\n{match[3]}"

    return MARKED.sub(write, text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, without columns that are empty in all rows."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    head, *rows = [[row[column] for column in kept] for row in (head, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _cell(measured: dict[str, Any], key: str, measure: str = "found") -> str:
    """Return a score in both directions, such as .719 / .333; `key` is without the direction."""
    values = [measured["scores"].get(f"{key} {direction}", {}).get(measure) for direction in DIRECTIONS]
    return " / ".join("–" if value is None else _number(value) for value in values)


def _codes(measured: dict[str, Any], key: str) -> str:
    """Return the mean number of distinct codes of a database; methods with two sets of codes have two."""
    found = [measured["scores"][f"{key} {direction}"].get("codes") for direction in DIRECTIONS]
    return " / ".join(dict.fromkeys("" if number is None else f"{number:,.0f}" for number in found))


def _number(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def overview(measured: dict[str, Any]) -> str:
    """Return the table of the README: each method with its best preset, 64 bits."""
    places = [(dataset, protocol) for dataset in SETS for protocol in PROTOCOLS]
    names = {name: METHODS[name].title for name in ("smfh-plus", "smfh", *NEWER[1:])}
    names |= {"smfh": "SMFH, as published"}
    rows = [
        [title, *(_cell(measured, f"{d} {name} 64 {p} hamming") for d, p in places)]
        + [_codes(measured, f"{d} {name} 64 training hamming") for d in SETS]
        for name, title in names.items()
    ]
    chance = [_cell(measured, f"{d} smfh-plus 64 {p} hamming", "chance") for d, p in places]
    head = ["", *(f"{TITLES[d]}; {p}" for d, p in places), *(f"{TITLES[d]}; codes" for d in SETS)]
    return _table(head, [*rows, ["chance", *chance, *[""] * len(SETS)]])


def lengths(measured: dict[str, Any]) -> str:
    """Return the table of SMFH+ at 8, 16 and 64 bits and SMFH at 64."""
    places = [(dataset, protocol) for dataset in SETS for protocol in PROTOCOLS]
    which = [("smfh-plus", 8), ("smfh-plus", 16), ("smfh-plus", 64), ("smfh", 64)]
    rows = [
        [METHODS[m].title, str(b), *(_cell(measured, f"{d} {m} {b} {p} hamming") for d, p in places)]
        + [_codes(measured, f"{d} {m} {b} training hamming") for d in SETS]
        for m, b in which
    ]
    head = ["mAP@100", "bits", *(f"{TITLES[d]}; {p}" for d, p in places), *(f"{TITLES[d]}; codes" for d in SETS)]
    return _table(head, rows)


def newer(measured: dict[str, Any]) -> str:
    """Return the table of SMFH+ and newer methods with the same features."""
    labels = {"found": "mAP@100", "precision": "P@100", "full": "whole ranking", "ndcg": "NDCG@100"}
    rows = []
    for dataset in SETS:
        for measure, label in labels.items():
            ours = "smfh-plus whole ranking" if measure == "full" else "smfh-plus"
            names = (ours, *NEWER[1:])
            cells = [_cell(measured, f"{dataset} {name} 64 training hamming", measure) for name in names]
            rows.append([TITLES[dataset] if measure == "found" else "", label, *cells])
        codes = [_codes(measured, f"{dataset} {name} 64 training hamming") for name in NEWER]
        rows += [["", "codes", *codes]] if any(codes) else []
    return _table(["", "", *(METHODS[name].title for name in NEWER)], rows)


def distances(measured: dict[str, Any]) -> str:
    """Return the table of scores by Hamming and by asymmetric distance."""
    rows, short = [], [("smfh-plus", 16, "training", "found"), ("smfh-plus", 16, "unseen", "found")]
    both = [*short, ("smfh-plus", 64, "training", "found"), ("smfh-plus whole ranking", 64, "training", "full")]
    for dataset, which in (*((dataset, both) for dataset in SETS), ("emoji-groups", short)):
        for name, bits, protocol, score in which:
            preset_name = ', preset "whole ranking"' if score == "full" else ""
            cells = [_cell(measured, f"{dataset} {name} {bits} {protocol} {d}", score) for d in DISTANCES]
            label = "whole ranking" if score == "full" else "mAP@100"
            rows.append([f"{TITLES[dataset]}; {bits} bits, {protocol}{preset_name}", label, *cells])
    return _table(["SMFH+, text → image / image → text", "score", *DISTANCES], rows)


def table_1(direction: str) -> Callable[[dict[str, Any]], str]:
    """Return the function that writes one half of Table 1: measured (published)."""

    def write(measured: dict[str, Any]) -> str:
        rows = []
        for name in PAPER_METHODS:
            cells = []
            for column, bits in COLUMNS:
                key = f"wiki {name} paper {bits} training hamming {direction}"
                printed = published_score("wiki", direction.replace(" → ", "->"), ROW.get(name, name), column, bits)
                cell = _number(measured["scores"][key][DEFINITIONS[column]])
                cells.append(cell + (f" ({_number(printed)})" if printed is not None else ""))
            rows.append([METHODS[name].title, *cells])
        labels = {"map": "mAP", "p_at_100": "P@100"}
        return _table([direction, *(f"{labels[column]} {bits}" for column, bits in COLUMNS)], rows)

    return write


def robustness(measured: dict[str, Any]) -> str:
    """Return the table of scores by share of wrong labels, the figure, and a summary of two sentences."""
    curves = measured["robustness"]
    by_place: dict[str, dict[str, Sequence[float]]] = {}
    for one in curves:
        by_place.setdefault(f"{TITLES[one['data']]}; {one['database']}", {})[one["method"]] = one["scores"]
    titles = list(dict.fromkeys(one["method"] for one in curves))
    rows = [[title, *(" ".join(map(_number, by_title[title])) for by_title in by_place.values())] for title in titles]
    shares = ", ".join(f"{100 * share:g} %" for share in DEFAULT_SHARES)
    table = _table([f"mAP@100 with {shares} wrong labels", *by_place], rows)
    clean, wrong = (
        ", ".join(
            f"{max(by_title, key=lambda title: by_title[title][end])} ({place})" for place, by_title in by_place.items()
        )
        for end in (0, -1)
    )
    kept = {
        title: np.mean([by_title[title][-1] / by_title[title][0] for by_title in by_place.values()]) for title in titles
    }
    same = [title for title in titles if all(len(set(by_title[title])) == 1 for by_title in by_place.values())]
    most, least = (end(kept.keys() - {*same}, key=kept.__getitem__) for end in (max, min))
    worst = f"with {100 * DEFAULT_SHARES[-1]:g} % wrong labels"
    summary = (
        f"The best methods are {clean} without wrong labels, and {wrong} {worst}. Of the methods with labels, "
        f"{most} keeps most of its mAP@100 {worst} (on average {100 * kept[most]:.0f} %) and {least} least "
        f"({100 * kept[least]:.0f} %); {', '.join(same)} learn from pairs alone and do not change."
    )
    return "\n".join([table, "", f"![mAP@100 by the share of wrong labels]({ROBUSTNESS_FIGURE.name})", "", summary])


def robustness_svg(curves: Sequence[dict[str, Any]]) -> bytes:
    """Draw the robustness curves, a panel for each data set and database, with Matplotlib."""
    names = {method.title: name for name, method in METHODS.items()}
    spec: dict[str, Any] = {"title": "Robustness", "panels": [], "series": []}
    rows: list[Row] = []
    for data, database in dict.fromkeys((one["data"], one["database"]) for one in curves):
        found = [
            Point(names[one["method"]], one["method"], "", 100 * share, (score,))
            for one in curves
            if (one["data"], one["database"]) == (data, database)
            for share, score in zip(DEFAULT_SHARES, one["scores"], strict=True)
        ]
        chart = score_curves(found, "mAP@100", Axis(f"{TITLES[data]}; {database} items: wrong labels (%)"))
        drawn, own = figure_parts(chart)
        is_first, start = not spec["panels"], len(spec["series"])
        panel, listed = len(spec["panels"]), {"listed": True} if is_first else {"listed": False}
        spec["series"] += [one | {"panel": panel} | (listed if one["listed"] else {}) for one in drawn["series"]]
        rows += [row | {"series": start + int(row["series"] or 0)} for row in own]
        spec["panels"] += drawn["panels"]
    spec["shape"] = (len(spec["panels"]) // 2, 2)
    with TemporaryDirectory() as folder:
        path = Path(folder, "figure.svg")
        draw_figure.save(draw_figure.draw(spec, rows, columns=2), path)
        return path.read_bytes()


def fine_labels(measured: dict[str, Any]) -> str:
    """Return the table of scores by fine labels."""
    rows = []
    for (labels, distance), own in groupby(measured["fine"], key=lambda row: (row["labels"], row["distance"])):
        both = list(own)
        codes = " / ".join(dict.fromkeys(f"{row['codes']:,.0f}" for row in both))
        cells = [" / ".join(_number(row[name]) for row in both) for name in ("group", "subgroup", "ndcg", "map")]
        rows.append([labels, distance, codes, *cells])
    first = f"first {FIRST}: same"
    head = ["Emoji, 64 bits, text → image / image → text", "distance", "codes", f"{first} group", f"{first} subgroup"]
    return f"{_table([*head, 'NDCG@100', 'mAP@100'], rows)}\n\nMeasured on: {measured['measured']['fine']}."


def equal_features(measured: dict[str, Any]) -> str:
    """Return the table of wins, ties and losses of SMFH+, with the distinct codes of both sides."""
    rows = _equal_rows(measured)
    sets = list(dict.fromkeys(row["data"] for row in rows))
    order = dict.fromkeys((row["features"], row["rival"], row["distance"]) for row in rows)
    lines = []
    for features, rival, distance in sorted(order, key=lambda key: (key[0] != "strong", key[1] == "class-codes")):
        own = [row for row in rows if (row["features"], row["rival"], row["distance"]) == (features, rival, distance)]
        bits = ", ".join(map(str, dict.fromkeys(row["bits"] for row in own)))
        cells = [_outcomes(row for row in own if row["data"] == name) for name in sets]
        lines.append([METHODS[rival].title, features, bits, distance, *cells])
    table = _table(["SMFH+ against", "features", "bits", "distance", *(TITLES[name] for name in sets)], lines)
    about = measured["equal"]
    seeds = f"Means of {about['seeds']} seeds. Measured on: {about['measured']}."
    return f"{table}\n\n{seeds} Distinct codes of the training items:\n\n{equal_codes(measured)}"


def equal_codes(measured: dict[str, Any]) -> str:
    """Return the table of distinct codes of the training items, with equal features."""
    rows = [row for row in _equal_rows(measured) if row["features"] == "same" and row["protocol"] == "training"]
    sets, lines = list(dict.fromkeys(row["data"] for row in rows)), []
    for method in ("smfh-plus", *RIVALS, "class-codes"):
        cells = []
        for name in sets:
            own = [row for row in rows if row["data"] == name and method in ("smfh-plus", row["rival"])]
            field = "codes" if method == "smfh-plus" else "rival_codes"
            cells.append(", ".join(f"{n:,.0f}" for n in {row["bits"]: row[field] for row in own}.values()))
        lines.append([METHODS[method].title, *cells])
    bits = ", ".join(map(str, EQUAL_BITS))
    return _table([f"distinct codes, {bits} bits (class codes: 64)", *(TITLES[name] for name in sets)], lines)


def equal_losses(measured: dict[str, Any]) -> str:
    """Return all clear losses with equal features, in words: one line per data set, database and measure."""
    lost = [row for row in _equal_rows(measured) if row["features"] == "same" and row["result"] == "loss"]
    lines = []
    for distance, name in product(DISTANCES, dict.fromkeys(row["data"] for row in lost)):
        parts = []
        for protocol, measure in product(PROTOCOLS, dict.fromkeys(row["measure"] for row in lost)):
            place = (distance, name, protocol, measure)
            own = [row for row in lost if (row["distance"], row["data"], row["protocol"], row["measure"]) == place]
            against = []
            for rival in dict.fromkeys(row["rival"] for row in own):
                cells = [row for row in own if row["rival"] == rival]
                bits = ", ".join(map(str, sorted({row["bits"] for row in cells})))
                low, high = (signed(end(row["difference"] for row in cells)) for end in (min, max))
                against.append(f"{METHODS[rival].title} ({bits} bits: {low if low == high else f'{low} to {high}'})")
            if against:
                parts.append(f"{measure}, {protocol} items: {'; '.join(against)}")
        if parts:
            lines += [f"- {TITLES[name]}, {distance} distance.", *(f"  - {part}." for part in parts)]
    about = "Difference of SMFH+ from the other method, from the lowest to the highest in both directions:\n"
    return "\n".join([about, *lines] if lines else ["Nowhere."])


def _equal_rows(measured: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(measured["equal"]["columns"], row, strict=True)) for row in measured["equal"]["rows"]]


def _outcomes(rows: Iterable[dict[str, Any]]) -> str:
    results = [row["result"] for row in rows]
    return " / ".join(str(results.count(result)) for result in ("win", "tie", "loss"))


def ratios(measured: dict[str, Any]) -> str:
    """Return the ratios of a benchmark with what they compare, and the machine."""
    bench = measured["bench"]
    rows = [[name, f"{ratio:.2f}", bench["notes"][name]] for name, ratio in bench["ratios"].items()]
    return f"{bench['machine']}:\n\n" + _table(["ratio", "measured", "what is compared"], rows)


def seconds(measured: dict[str, Any]) -> str:
    """Return the times of a benchmark."""
    times = measured["bench"]["seconds"].items()
    rows = [[name, f"{time:.3f}{'' if name.endswith('GB') else ' s'}"] for name, time in times]
    return _table(["", "measured"], rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "overview": overview,
    "lengths": lengths,
    "newer": newer,
    "distances": distances,
    "robustness": robustness,
    "fine-labels": fine_labels,
    "equal-features": equal_features,
    "equal-losses": equal_losses,
    "task-1": table_1(DIRECTIONS[0]),
    "task-2": table_1(DIRECTIONS[1]),
    "sensible": lambda measured: _table(guide_search.SEARCH_HEAD, guide_search.search_rows(measured["search"])),
    "review": lambda measured: _table(guide_search.REVIEW_HEAD, guide_search.review_rows(measured["search"])),
    "ratios": ratios,
    "seconds": seconds,
    "scores-machine": lambda measured: "\n".join(
        f"- {', '.join(PARTS[part] for part, _ in own)}: {where}."
        for where, own in groupby(measured["measured"].items(), key=lambda item: item[1])
    ),
}
NEEDS = {"robustness": "robustness", "ratios": "bench", "seconds": "bench", "fine-labels": "fine"}
NEEDS |= {"sensible": "search", "review": "search"}
NEEDS |= dict.fromkeys(("equal-features", "equal-losses"), "equal")  # other tables need "scores"
