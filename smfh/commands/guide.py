"""Write the tables of README and guide from measured scores and benchmarks, so that no number is typed.

The measurements are in files of assets/guide: measured.json (scores with `--measure`, speed with `--bench`),
robustness.json (`--robustness`), equal.json (`--equal`) and search.json (`--search`). Each table stands between
two comments in the Markdown file; everything else in the file is left as it is.
"""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

import pandas as pd

from smfh.commands import guide_measure, guide_search
from smfh.commands.guide_measure import DIRECTIONS, FIRST, NEWER, PLANTED, RIVALS, SETS, Digits
from smfh.commands.options import use_data_folder
from smfh.experiments.robustness import DEFAULT_SHARES
from smfh.folders import app_folder
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS
from smfh.hashing.kernelised import SAME_FEATURES
from smfh.metrics import HEADLINE
from smfh.metrics.significance import signed
from smfh.paper.plan import PAPER_METHODS
from smfh.paper.published import COLUMNS, ROW, published_score
from smfh.paper.tables import DEFINITIONS, MEASURED, MEASURED_SEEDS
from smfh.plots import Axis, draw_figure, score_curves
from smfh.plots.chart import Row
from smfh.plots.paper_figure import figure_parts
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.types import InputError, Point

EPILOG = """examples:
  python -m smfh guide                        write the tables
  python -m smfh guide --measure              train and score everything first (an hour)
  python -m smfh guide --measure groups fine  only some tables: nine groups, and fine labels
  python -m smfh guide --equal                compare methods that have equal features (an hour)
  python -m smfh guide --robustness           train with wrong labels and score (about ten minutes)
  python -m smfh guide --search               count sensible results of typed words (two minutes)
  python -m smfh bench --json > speed.json && python -m smfh guide --bench speed.json"""
ROBUSTNESS_FIGURE = Path("assets", "guide", "robustness.svg")
OWN_FILES = {  # measurements with a file of their own; all others are in MEASURED
    "robustness": Path("assets", "guide", "robustness.json"),
    "equal": Path("assets", "guide", "equal.json"),
    "search": guide_search.FILE,
}
FILES = ("README.md", *(f"assets/guide/{name}.md" for name in ("results", "search", "speed")))
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
PARTS = {  # that can be measured on their own, and the tables in which they are
    "overview": "SMFH+ and newer methods",
    "paper": "Table 1 of the paper",
    "groups": "Emoji with nine groups",
    "fine": "fine labels",
    "kernel-ridge": "kernel ridge without codes",
}
TITLES = {
    "wiki": "Wiki",
    "emoji": "Emoji, groups and subgroups",
    "emoji-groups": "Emoji, nine groups",
    "planted": "Planted",
    "digits": "Digits, signed",
}
LABELS = {"found": "mAP@100", "precision": "P@100", "full": "whole ranking", "ndcg": "NDCG@100"}
LINE_CHARACTERS = 125  # of paragraphs in the guide
Measured = dict[str, Any]  # all measurements by name


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    words = f"train the methods of all tables first, or of some: {', '.join(PARTS)}; saved runs are reused"
    add("--measure", nargs="*", choices=[*PARTS], metavar="TABLE", help=words)
    add("--equal", action="store_true", help="compare methods with equal features first; saved runs are reused")
    add("--seeds", type=int, default=MEASURED_SEEDS, help=f"number of seeds of --equal (default {MEASURED_SEEDS})")
    add("--robustness", action="store_true", help="train with wrong labels first; saved runs are reused")
    add("--search", action="store_true", help="count sensible results of typed words first (two minutes)")
    add("--bench", metavar="FILE", help="use the output of `bench --json` for the tables of speed")
    add("--data", metavar="FOLDER", help="folder with the benchmark files (default: SMFH_DATA)")


def run(arguments: Namespace) -> None:
    use_data_folder(arguments)
    measured = read_measured()
    for part in () if arguments.measure is None else arguments.measure or PARTS:
        if part == "fine":
            measured["fine"] = guide_measure.measure_fine()
        elif part == "kernel-ridge":
            measured["kernel-ridge"] = guide_measure.measure_kernel_ridge()
        else:
            measured["scores"] = measured.get("scores", {}) | guide_measure.measure(guide_measure.settings(part))
        measured["measured"] = measured.get("measured", {}) | {part: guide_measure.here_and_today()}
    if arguments.bench:
        measured["bench"] = json.loads(Path(arguments.bench).read_text(encoding="utf-8"))
    if arguments.equal:
        measured["equal"] = guide_measure.measure_equal(arguments.seeds)
    if arguments.robustness:
        measured["robustness"] = guide_measure.measure_robustness()
    if arguments.search:
        measured["search"] = guide_search.measure_search()
    write_measured(measured)
    for name in FILES:
        path = app_folder() / name
        path.write_text(with_tables(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"wrote the tables of {name}")


def read_measured() -> Measured:
    """Return all measurements from their files; those of files that are missing are left out."""
    file = app_folder() / MEASURED
    measured: Measured = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for name, path in OWN_FILES.items():
        if (file := app_folder() / path).is_file():
            measured[name] = json.loads(file.read_text(encoding="utf-8"))
    return measured


def write_measured(measured: Measured) -> None:
    """Write the measurements to their files, and draw the figure of robustness."""
    contents = {path: measured[name] for name, path in OWN_FILES.items() if name in measured}
    if rest := {name: value for name, value in measured.items() if name not in OWN_FILES}:
        contents[MEASURED] = rest
    for path, content in contents.items():
        (app_folder() / path).write_text(as_json(content), encoding="utf-8")
    if "robustness" in measured:
        (app_folder() / ROBUSTNESS_FIGURE).write_bytes(robustness_svg(measured["robustness"]))


def as_json(values: Any) -> str:
    """Return values as JSON, with the innermost lists on one line each."""
    text = json.dumps(values, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text) + "\n"


def with_tables(text: str, measured: Measured) -> str:
    """Return a Markdown text with every marked table updated, if its numbers have been measured."""

    def write(match: re.Match[str]) -> str:
        if match[2] not in TABLES:
            raise InputError(f"There is no table {match[2]}; there are {', '.join(TABLES)}.")
        needed, table = TABLES[match[2]]
        return f"{match[1]}{table(measured)}\n{match[3]}" if needed in ("", *measured) else match[0]

    return MARKED.sub(write, text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, without columns that are empty in all rows."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    head, *rows = [[row[column] for column in kept] for row in (head, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _scores(measured: Measured, key: str, measure: str = "found") -> list[float | None]:
    """Return a score in both directions; `key` is a search without its direction."""
    return [measured["scores"].get(f"{key} {direction}", {}).get(measure) for direction in DIRECTIONS]


def _cell(values: Sequence[float | None]) -> str:
    """Return scores as text such as .719 / .333."""
    return " / ".join("–" if value is None else f"{value:.3f}".removeprefix("0") for value in values)


def _codes(numbers: Sequence[float | None]) -> str:
    """Return the numbers of distinct codes in both directions as text; equal numbers are written once."""
    return " / ".join(dict.fromkeys("" if number is None else f"{number:,.0f}" for number in numbers))


def by_place(measured: Measured, which: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: mAP@100 by data set and database, then the numbers of distinct codes.

    `which` maps the title of each row to the method and bits whose scores the row shows.
    """
    places = list(product(SETS, PROTOCOLS))
    head = [*(f"{TITLES[d]}; {p}" for d, p in places), *(f"{TITLES[d]}; codes" for d in SETS)]
    rows = [
        [title, *(_cell(_scores(measured, f"{d} {method} {p} hamming")) for d, p in places)]
        + [_codes(_scores(measured, f"{d} {method} training hamming", "codes")) for d in SETS]
        for title, method in which.items()
    ]
    return head, rows


def overview(measured: Measured) -> str:
    """Return the table of the README: each method with its best preset, 64 bits, and chance."""
    names = {"smfh-plus": METHODS["smfh-plus"].title, "smfh": "SMFH, as published"}
    names |= {name: METHODS[name].title for name in NEWER[1:]}
    head, rows = by_place(measured, {title: f"{name} 64" for name, title in names.items()})
    keys = [f"{d} smfh-plus 64 {p} hamming" for d, p in product(SETS, PROTOCOLS)]
    chance = [_cell(_scores(measured, key, "chance")) for key in keys]
    return _table(["", *head], [*rows, ["Chance", *chance, *[""] * len(SETS)]])


def lengths(measured: Measured) -> str:
    """Return the table of scores by code length: SMFH+ with 8, 16 and 64 bits, SMFH with 64."""
    which = [("smfh-plus", 8), ("smfh-plus", 16), ("smfh-plus", 64), ("smfh", 64)]
    head, rows = by_place(measured, {f"{METHODS[name].title} {bits}": f"{name} {bits}" for name, bits in which})
    return _table(["mAP@100", "bits", *head], [[*title.split(), *cells] for title, *cells in rows])


def newer(measured: Measured) -> str:
    """Return the table of SMFH+ and newer methods with the same features."""
    rows = []
    for dataset, (measure, label) in product(SETS, [*LABELS.items(), ("codes", "codes")]):
        ours = "smfh-plus whole ranking" if measure == "full" else "smfh-plus"
        keys = [f"{dataset} {name} 64 training hamming" for name in (ours, *NEWER[1:])]
        write = _codes if measure == "codes" else _cell
        cells = [write(_scores(measured, key, measure)) for key in keys]
        rows += [[TITLES[dataset] if measure == "found" else "", label, *cells]] if any(cells) else []
    return _table(["", "", *(METHODS[name].title for name in NEWER)], rows)


def distances(measured: Measured) -> str:
    """Return the table of scores by Hamming and by asymmetric distance."""
    short = [(16, "training", "found"), (16, "unseen", "found")]
    both = [*short, (64, "training", "found"), (64, "unseen", "found"), (64, "training", "full")]
    rows = []
    for dataset, which in (*((dataset, both) for dataset in SETS), ("emoji-groups", short)):
        for bits, protocol, score in which:
            setting = " whole ranking" if score == "full" else ""
            key = f"{dataset} smfh-plus{setting} {bits} {protocol}"
            place = f"{TITLES[dataset]}; {bits} bits, {protocol}" + (f', preset "{setting[1:]}"' if setting else "")
            rows.append([place, LABELS[score], *(_cell(_scores(measured, f"{key} {d}", score)) for d in DISTANCES)])
    return _table(["SMFH+, text → image / image → text", "score", *DISTANCES], rows)


def table_1(direction: str, measured: Measured) -> str:
    """Return one half of Table 1, each measured score with the published one in brackets."""
    rows = []
    for name, (column, bits) in product(PAPER_METHODS, COLUMNS):
        if (column, bits) == COLUMNS[0]:
            rows.append([METHODS[name].title])
        key = f"wiki {name} paper {bits} training hamming {direction}"
        printed = published_score("wiki", direction.replace(" → ", "->"), ROW.get(name, name), column, bits)
        cell = _cell([measured["scores"][key][DEFINITIONS[column]]])
        rows[-1].append(cell if printed is None else f"{cell} ({_cell([printed])})")
    labels = {"map": "mAP", "p_at_100": "P@100"}
    return _table([direction, *(f"{labels[column]} {bits}" for column, bits in COLUMNS)], rows)


def robustness(measured: Measured) -> str:
    """Return the table of scores by share of wrong labels, the figure, and a summary of two sentences."""
    curves = measured["robustness"]
    rows = [(f"{TITLES[one['data']]}; {one['database']}", one["method"]) for one in curves]
    index = pd.MultiIndex.from_tuples(rows, names=["place", "method"])
    scores = pd.DataFrame([one["scores"] for one in curves], index, DEFAULT_SHARES)
    places, titles = (list(index.unique(level)) for level in index.names)
    lines = [[title, *(" ".join(_cell([x]) for x in scores.loc[place, title]) for place in places)] for title in titles]
    shares = ", ".join(f"{100 * share:g} %" for share in DEFAULT_SHARES)
    table = _table([f"mAP@100 with {shares} wrong labels", *places], lines)
    clean, wrong = (
        ", ".join(f"{scores.loc[place][share].idxmax()} ({place})" for place in places)
        for share in (DEFAULT_SHARES[0], DEFAULT_SHARES[-1])
    )
    by_method = scores.groupby("method", sort=False)
    kept = by_method.apply(lambda own: (own.iloc[:, -1] / own.iloc[:, 0]).mean())
    is_same = by_method.apply(lambda own: (own.nunique(axis=1) == 1).all())
    most, least = kept[~is_same].idxmax(), kept[~is_same].idxmin()
    worst = f"with {100 * DEFAULT_SHARES[-1]:g} % wrong labels"
    summary = (
        f"The best methods are {clean} without wrong labels, and {wrong} {worst}. Of the methods that use labels, "
        f"{most} keeps the largest share of its mAP@100 {worst} ({100 * kept[most]:.0f} % on average) and {least} "
        f"the smallest ({100 * kept[least]:.0f} %); {', '.join(kept.index[is_same])} learn from pairs alone and do "
        "not change."
    )
    return "\n".join([table, "", f"![mAP@100 by the share of wrong labels]({ROBUSTNESS_FIGURE.name})", "", summary])


def robustness_svg(curves: Sequence[dict[str, Any]]) -> bytes:
    """Draw the robustness curves, a panel for each data set and database, with Matplotlib."""
    names = {method.title: name for name, method in METHODS.items()}
    spec: dict[str, Any] = {"title": "Robustness", "panels": [], "series": []}
    rows: list[Row] = []
    for (data, database), own in groupby(curves, key=lambda one: (one["data"], one["database"])):
        found = [
            Point(names[one["method"]], one["method"], "", 100 * share, (score,))
            for one in own
            for share, score in zip(DEFAULT_SHARES, one["scores"], strict=True)
        ]
        chart = score_curves(found, "mAP@100", Axis(f"{TITLES[data]}; {database} items: wrong labels (%)"))
        drawn, values = figure_parts(chart)
        panel, start = len(spec["panels"]), len(spec["series"])
        spec["series"] += [one | {"panel": panel, "listed": one["listed"] and panel == 0} for one in drawn["series"]]
        rows += [row | {"series": start + int(row["series"] or 0)} for row in values]
        spec["panels"] += drawn["panels"]
    spec["shape"] = (len(spec["panels"]) // 2, 2)
    with TemporaryDirectory() as folder:
        path = Path(folder, "figure.svg")
        draw_figure.save(draw_figure.draw(spec, rows, columns=2), path)
        return path.read_bytes()


def fine_labels(measured: Measured) -> str:
    """Return the table of scores by the fine labels of Emoji, for codes learnt from fine or from coarse labels."""
    rows = []
    for (labels, distance), own in pd.DataFrame(measured["fine"]).groupby(["labels", "distance"], sort=False):
        cells = [_cell(own[name]) for name in ("group", "subgroup", "ndcg", "map")]
        rows.append([labels, distance, _codes(own["codes"]), *cells])
    first = f"first {FIRST}: same"
    head = ["Emoji, 64 bits, text → image / image → text", "distance", "codes", f"{first} group", f"{first} subgroup"]
    return f"{_table([*head, LABELS['ndcg'], LABELS['found']], rows)}\n\nMeasured on: {measured['measured']['fine']}."


def equal_about(measured: Measured) -> str:
    """Return a description of the feature presets and the data sets, as they are in this version of the program."""
    strong, same = (METHODS["scratch"].preset_values(name) for name in ("strong", SAME_FEATURES))
    *others, last = (METHODS[name].title for name in RIVALS)
    paragraphs = (
        f'{", ".join(others)} and {last} have two presets for features: "strong" has {strong["anchors"]} anchors and a '
        f'fixed width and ridge; "{SAME_FEATURES}" has what SMFH+ has: up to {same["anchors"]:,} anchors, a width for '
        "each modality chosen by left-out error, and a ridge for each modality chosen by ranking left-out training "
        f"rows. SCRATCH then has {same['iterations']} rounds instead of {strong['iterations']}. Any difference from "
        "SMFH+ that remains comes from the codes.",
        f"*Planted* has {PLANTED.items:,} items with up to {PLANTED.labels_per_item} of {PLANTED.classes} classes and "
        f"noise {PLANTED.noise:g}. *Digits* are the handwritten digits of scikit-learn; its modalities are the "
        f"upper and the lower half of each picture, as {Digits.dimensions} signed principal components.",
    )
    return "\n\n".join(fill(paragraph, LINE_CHARACTERS) for paragraph in paragraphs)


def equal_rows(measured: Measured) -> pd.DataFrame:
    """Return the comparisons with equal features, one per row."""
    rows = pd.DataFrame(measured["equal"]["rows"], columns=measured["equal"]["columns"])
    return rows.replace({"distance": {"hamming": "Hamming"}})


def _outcomes(rows: pd.DataFrame) -> str:
    counts = rows["result"].value_counts()
    return " / ".join(str(counts.get(result, 0)) for result in ("win", "tie", "loss"))


def equal_features(measured: Measured) -> str:
    """Return the table of wins, ties and losses of SMFH+, their totals, and the distinct codes of all methods."""
    rows = equal_rows(measured)
    sets = list(rows["data"].unique())
    lines = []
    for (features, rival, distance), own in rows.groupby(["features", "rival", "distance"], sort=False):
        bits = ", ".join(map(str, own["bits"].unique()))
        cells = [_outcomes(own[own["data"] == name]) for name in sets]
        lines.append([METHODS[rival].title, features, bits, distance, *cells])
    lines.sort(key=lambda line: (line[1] != "strong", line[0] == METHODS["class-codes"].title))
    table = _table(["SMFH+ against", "features", "bits", "distance", *(TITLES[name] for name in sets)], lines)
    learnt = rows[rows["rival"].isin(RIVALS)]
    totals = [
        f"{_outcomes(own)} of {len(own)} with {'their strong' if features == 'strong' else 'the same'} features by "
        f"{distance} distance"
        for (features, distance), own in learnt.groupby(["features", "distance"], sort=False)
    ]
    searches = rows.loc[rows["data"] == sets[0], ["measure", "direction", "protocol"]].drop_duplicates()
    measures, _, databases = (searches[name].unique() for name in searches)
    about = (
        f"Each cell has {len(searches)} comparisons for each number of bits: {', '.join(measures)}; two directions; "
        f"{' and '.join(databases)} items as database. All data sets together, against "
        f"{', '.join(METHODS[name].title for name in learnt['rival'].unique())}: {'; '.join(totals)}. Means of "
        f"{measured['equal']['seeds']} seeds. Measured on: {measured['equal']['measured']}."
    )
    codes = f"Distinct codes of the training items:\n\n{equal_codes(rows)}"
    return "\n\n".join([table, fill(about, LINE_CHARACTERS), codes])


def equal_codes(rows: pd.DataFrame) -> str:
    """Return the table of distinct codes of the training items, with equal features."""
    rows = rows[(rows["features"] == "same") & (rows["protocol"] == "training")]
    ours = rows.assign(rival="smfh-plus", rival_codes=rows["codes"])
    codes = pd.concat([ours, rows]).drop_duplicates(["rival", "data", "bits"], keep="last")
    codes = codes.sort_values("bits", kind="stable")  # class codes, compared last, have fewer code lengths
    lines = [
        [METHODS[method].title]
        + [
            ", ".join(f"{n:,.0f}" for n in own.loc[own["data"] == name, "rival_codes"])
            for name in rows["data"].unique()
        ]
        for method, own in codes.groupby("rival", sort=False)
    ]
    bits = ", ".join(map(str, sorted(rows["bits"].unique())))
    return _table(
        [f"distinct codes, {bits} bits (class codes: 64)", *(TITLES[name] for name in rows["data"].unique())], lines
    )


def equal_losses(measured: Measured) -> str:
    """Return all clear losses with equal features, in words: one line per data set, database and measure."""
    rows = equal_rows(measured)
    rows = rows[rows["features"] == "same"]
    lines = list[str]()
    for name, distance in product(rows["data"].unique(), rows["distance"].unique()):
        there = rows[(rows["data"] == name) & (rows["distance"] == distance)]
        lost = there[there["result"] == "loss"]
        if len(lost):
            lines.append(f"- {TITLES[name]}, {distance} distance: {len(lost)} of {len(there)} comparisons.")
        for protocol, measure in product(rows["protocol"].unique(), rows["measure"].unique()):
            own, against = lost[(lost["protocol"] == protocol) & (lost["measure"] == measure)], list[str]()
            for rival, cells in own.groupby("rival", sort=False):
                bits = ", ".join(map(str, sorted(cells["bits"].unique())))
                low, high = signed(cells["difference"].min()), signed(cells["difference"].max())
                against.append(f"{METHODS[rival].title} ({bits} bits: {low if low == high else f'{low} to {high}'})")
            if against:
                lines.append(f"  - {measure}, {protocol} items: {'; '.join(against)}.")
    about = "Score of SMFH+ minus the score of the other method; lowest to highest value over both directions:\n"
    return "\n".join([about, *lines] if lines else ["Nowhere."])


def kernel_ridge(measured: Measured) -> str:
    """Return the table of scores by kernel ridge regression, without codes."""
    rows = []
    for dataset, protocol in product(("wiki", "emoji-groups"), PROTOCOLS):
        found = [measured["kernel-ridge"][f"{dataset} {protocol} {direction}"] for direction in DIRECTIONS]
        rows.append([f"{TITLES[dataset]}; {protocol}", *(_cell([one[name] for one in found]) for name in HEADLINE)])
    return _table(["kernel ridge, text → image / image → text", *(LABELS[name] for name in HEADLINE)], rows)


def ratios(measured: Measured) -> str:
    """Return the table of a benchmark's ratios, with what each compares, and the machine."""
    bench = measured["bench"]
    rows = [[name, f"{ratio:.2f}", bench["notes"][name]] for name, ratio in bench["ratios"].items()]
    return f"{bench['machine']}:\n\n" + _table(["ratio", "measured", "what is compared"], rows)


def seconds(measured: Measured) -> str:
    """Return the table of a benchmark's times."""
    times = measured["bench"]["seconds"].items()
    return _table(
        ["", "measured"], [[name, f"{time:.3f}{'' if name.endswith('GB') else ' s'}"] for name, time in times]
    )


def machines(measured: Measured) -> str:
    """Return a list of the machines, with the tables that were measured on each."""
    return "\n".join(
        f"- {', '.join(PARTS[part] for part, _ in own)}: {where}."
        for where, own in groupby(measured["measured"].items(), key=lambda item: item[1])
    )


TABLES: dict[str, tuple[str, Callable[[Measured], str]]] = {  # what must be measured, and what writes it
    "overview": ("scores", overview),
    "lengths": ("scores", lengths),
    "newer": ("scores", newer),
    "distances": ("scores", distances),
    "task-1": ("scores", partial(table_1, DIRECTIONS[0])),
    "task-2": ("scores", partial(table_1, DIRECTIONS[1])),
    "scores-machine": ("scores", machines),
    "robustness": ("robustness", robustness),
    "fine-labels": ("fine", fine_labels),
    "kernel-ridge": ("kernel-ridge", kernel_ridge),
    "equal-about": ("", equal_about),
    "equal-features": ("equal", equal_features),
    "equal-losses": ("equal", equal_losses),
    "sensible": (
        "search",
        lambda measured: _table(guide_search.SEARCH_HEAD, guide_search.search_rows(measured["search"])),
    ),
    "review": (
        "search",
        lambda measured: _table(guide_search.REVIEW_HEAD, guide_search.review_rows(measured["search"])),
    ),
    "ratios": ("bench", ratios),
    "seconds": ("bench", seconds),
}
