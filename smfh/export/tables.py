"""Tables of a comparison: significance tests, scores, rows for CSV, and tables for papers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape as escape_html
from itertools import pairwise, product

from smfh.experiments.comparison import MEASURES, OF_A_RUN, RADIUS, Grid, View, points, query_precisions, setting_of
from smfh.files.latex import escape, formula_html, typeset
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, GRADED
from smfh.metrics.significance import LEVEL, MIN_SEED_ERRORS, Difference, compare_pairs, in_words, signed
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import SavedRuns
from smfh.types import InputError

MAX_DIRECTIONS = 6  # in a table; three modalities have six directions
TESTED = (
    "Bold: the best of each column, and all that do not differ from it by more than noise (paired bootstrap "
    f"over queries, {100 * LEVEL:g} %, Bonferroni; {MIN_SEED_ERRORS:g} standard errors over seeds)."
)
BEST = "Bold: the best of each column."
CELL_CHARACTERS, SPREAD_CHARACTERS = 8, 11  # of a score without and with its deviation
MAX_NARROW_CHARACTERS = 56  # in a row; a table with more spans both columns of the page
Row = dict[str, str | float | int | None]


def table_directions(grid: Grid, view: View) -> list[tuple[str, str]]:
    """Return the directions for tables: all or, if there are too many, the view's direction and its reverse."""
    if len(grid.directions) <= MAX_DIRECTIONS:
        return grid.directions
    return [(view.source, view.target), (view.target, view.source)]


def compared_pairs(grid: Grid, store: SavedRuns, view: View, measure: str = "map") -> list[Difference]:
    """Compare every pair of methods at the view's bits; empty for a single method or query."""
    AP = query_precisions(grid, store, view, measure)
    if len(AP) < 2 or any(values.shape[1] < 2 for values in AP.values()):
        return []
    return compare_pairs(AP)


def winners(by_measure: Mapping[str, Sequence[Difference]]) -> str:
    """Return a sentence that names the best method by each measure; empty if there are no pairs."""
    first = {measure: pairs[0].first for measure, pairs in by_measure.items() if pairs}
    if len(set(first.values())) == 1:
        return f"{next(iter(first.values()))} is best by {', '.join(first)}."
    by_measure_best = [f"{name} by {measure}" for measure, name in first.items()]
    return f"The measures disagree about the best: {', '.join(by_measure_best)}." if first else ""


def sentences(pairs: Sequence[Difference], view: View) -> list[str]:
    """Return sentences that compare each method with the next best one."""
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    neighbours = set(pairwise(order))
    where = f"at {view.bits} bits, {view.direction}"
    return [in_words(pair, where) for pair in pairs if (pair.first, pair.second) in neighbours]


def pair_rows(pairs: Sequence[Difference]) -> list[dict[str, str]]:
    """Return a row per pair of methods: difference, interval, and whether it is more than noise."""
    return [
        {
            "better": pair.first,
            "than": pair.second,
            "difference": signed(pair.mean),
            "interval": f"{signed(pair.low)} to {signed(pair.high)}",
            "± over seeds": "–" if pair.seed_error is None else f"{pair.seed_error:.3f}",
            "more than noise": "yes" if pair.is_clear else "no",
        }
        for pair in pairs
    ]


def score_rows(grid: Grid, store: SavedRuns, view: View) -> list[dict[str, str]]:
    """Return mean ± deviation: a row per direction, method and measure, a column per code length."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    order = list(grid.comparison.titles.values())
    for direction in table_directions(grid, view):
        views = [one.towards(*direction) for one in view.headline_views]
        found = [(one.metric.label, "map", point) for one in views for point in points(grid, store, one)]
        for name in view.graded:
            found += [(GRADED[name][0], name, point) for point in points(grid, store, views[0], name)]
        for label, name, point in sorted(found, key=lambda each: order.index(each[2].title)):
            about = {"direction": point.direction, "distance": view.distance, "method": point.title, "measure": label}
            row = rows.setdefault(tuple(about.values()), about)
            row[f"{point.at} bits"] = MEASURES[name].text(point)
    return list(rows.values())


def csv_rows(
    grid: Grid, store: SavedRuns, view: View, directions: Sequence[tuple[str, str]] | None = None
) -> list[Row]:
    """Return a row per run, direction and protocol; `plots.csv_of` writes them safely as CSV."""
    rows: list[Row] = []
    searches = product(directions or grid.directions, PROTOCOLS)
    for record, ((source, target), protocol) in product(grid.found(store).values(), searches):
        try:
            scores = store.scores(record, grid.data, grid.split, source, target, protocol, view.distance)
        except InputError:  # damaged run: the store has marked it, and the Runs page shows it
            continue
        precision, method = scores.average_precision[view.definition], record.method
        rows.append(
            {
                "data": record.source.name,
                "method": method.name,
                "title": grid.comparison.titles[setting_of(method)],
                "bits": method.bits,
                "seed": method.seed,
                "from": source,
                "to": target,
                "database": protocol,
                "distance": view.distance,
                "definition": precision.definition.formula,
                precision.definition.label: precision.mean,
                "chance": precision.chance,
                "ties at worst": precision.worst,
                "ties averaged": precision.tie_aware,
                "ties at best": precision.best,
                **{AP_DEFINITIONS[name].label: value for name, value in scores.headline.items()},
                **{label: scores.graded.get(name) for name, (label, _) in GRADED.items()},
                f"look-up hit rate, radius {RADIUS}": float(scores.within.hits[min(RADIUS, scores.bits)]),
                "queries": scores.queries,
                "queries without relevant": scores.queries_without_relevant,
                "training seconds": record.timing.training,
                "encoding seconds": record.timing.encoding[source],
                "settings": settings_of(method),
                "run": record.id,
            }
        )
    return rows


def settings_of(method: HashMethod) -> str:
    """Return all settings but bits and seed, such as "graph_weight = 2.0, iterations = 30"."""
    return ", ".join(f"{name} = {value}" for name, value in asdict(method).items() if name not in OF_A_RUN)


@dataclass(frozen=True)
class Cell:
    """One score of a table: mean and deviation over seeds, and whether it is marked as best."""

    mean: float
    deviation: float | None  # None for one seed
    seeds: int
    is_best: bool  # the best of its column, or not clearly different from it


@dataclass(frozen=True)
class PaperTable:
    """One measure of a comparison as a table for a paper: methods by direction and code length."""

    label: str  # of the measure
    about: str  # data, database, distance and seeds
    formula: str  # in LaTeX, with its words
    words: str  # the formula as plain text
    decimals: int
    cells: Mapping[tuple[str, str, int], Cell]  # by method, direction and bits
    marks: str = BEST
    distance: str = ""  # a key of DISTANCES; "" for seconds

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for method, _, _ in self.cells))

    @property
    def columns(self) -> list[tuple[str, int]]:
        """Direction and bits of each column, grouped by direction."""
        directions = dict.fromkeys(direction for _, direction, _ in self.cells)
        return [(way, bits) for way in directions for bits in sorted({b for _, _, b in self.cells})]

    def latex(self) -> str:
        """Return the table in LaTeX with booktabs; wide tables span both columns of the page."""
        ways = dict.fromkeys(direction for direction, _ in self.columns)
        size = len(self.columns) // len(ways)
        starts = range(2, 2 + len(self.columns), size)
        has_spread = any(cell.deviation is not None for cell in self.cells.values())
        cell = SPREAD_CHARACTERS if has_spread else CELL_CHARACTERS
        characters = max(map(len, self.methods)) + len(self.columns) * cell
        wide = "*" if characters > MAX_NARROW_CHARACTERS else ""
        caption = f"{escape(f'{self._title}.')} {self.formula}. {escape(self.marks)}"
        heads = [rf"\multicolumn{{{size}}}{{c}}{{{escape(way)}}}" for way in ways]
        rules = "".join(rf"\cmidrule(lr){{{start}-{start + size - 1}}}" for start in starts)
        above = [" & ".join(["", *heads]) + r" \\", rules] if any(ways) else []
        rows = self._rows("${}{}$", r"$\mathbf{{{}}}{}$", r"{{\scriptstyle\pm{}}}")
        lines = [
            rf"\begin{{table{wide}}}",
            r"\centering\footnotesize\setlength{\tabcolsep}{2.5pt}",
            rf"\caption{{{caption}}}",
            r"\smallskip",
            rf"\begin{{tabular}}{{@{{}}l{'r' * len(self.columns)}@{{}}}}",
            r"\toprule",
            *above,
            " & ".join(["Method", *(f"{bits} bits" for _, bits in self.columns)]) + r" \\",
            r"\midrule",
            *(" & ".join([escape(method), *row]) + r" \\" for method, row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\end{{table{wide}}}",
        ]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the table in Markdown, with its caption above."""
        heads = ["Method", *(f"{way}, {bits} bits".removeprefix(", ") for way, bits in self.columns)]
        lines = [heads, ["---", *["---:"] * len(self.columns)]]
        lines += [[plain_markdown(method), *row] for method, row in self._rows("{}{}", "**{}{}**", " ± {}")]
        formula = typeset(self.words, plain_markdown)  # mathematics is between dollar signs
        caption = f"{plain_markdown(self._title)}. {formula}. {plain_markdown(self.marks)}"
        return "\n".join([caption, "", *(f"| {' | '.join(line)} |" for line in lines)])

    def html(self) -> str:
        """Return the table as HTML, with its caption above."""
        ways = dict.fromkeys(direction for direction, _ in self.columns)
        size = len(self.columns) // len(ways)
        groups = "".join(f'<th colspan="{size}" scope="colgroup">{escape_html(way)}</th>' for way in ways)
        heads = "".join(f'<th scope="col">{bits} bits</th>' for _, bits in self.columns)
        lines = [f"<th></th>{groups}"] * any(ways) + [f'<th scope="col">Method</th>{heads}']
        for method, row in self._rows("{}{}", "<strong>{}</strong>{}", " <small>± {}</small>"):
            lines.append(f'<th scope="row">{escape_html(method)}</th>{"".join(f"<td>{cell}</td>" for cell in row)}')
        caption = f"{escape_html(self._title)}. {formula_html(self.words)}. {escape_html(self.marks)}"
        return f"<table><caption>{caption}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

    def rows(self) -> list[Row]:
        """Return a row per cell, for CSV."""
        return [
            {
                "measure": self.label,
                "distance": self.distance,
                "method": method,
                "direction": direction,
                "bits": bits,
                "mean": cell.mean,
                "standard deviation": cell.deviation,
                "seeds": cell.seeds,
                "best or tied": "yes" if cell.is_best else "no",
            }
            for (method, direction, bits), cell in self.cells.items()
        ]

    def _rows(self, plain: str, best: str, spread: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each method with its cells as text; the arguments are formats of a cell, a best cell, a deviation."""
        for method in self.methods:
            row = []
            for column in self.columns:
                if (cell := self.cells.get((method, *column))) is None:
                    row.append("--")
                    continue
                mean, deviation = (f"{x or 0:.{self.decimals}f}" for x in (cell.mean, cell.deviation))
                around = "" if cell.deviation is None else spread.format(deviation)
                row.append((best if cell.is_best else plain).format(mean, around))
            yield method, row

    @property
    def _title(self) -> str:
        return f"{self.label[0].upper() if self.label.islower() else self.label[0]}{self.label[1:]} on {self.about}"


def paper_tables(grid: Grid, store: SavedRuns, view: View) -> list[PaperTable]:
    """Return a table of each measure with all directions, and one of training seconds."""
    ways = [view.towards(*direction) for direction in table_directions(grid, view)]
    where = "training items as database" if view.protocol == "training" else "held-out items as database"
    distance = view.distance.replace("hamming", "Hamming")
    title, queries = grid.comparison.source.title, f"{len(grid.split.queries):,} queries"
    about = ", ".join([title, where, queries, f"{distance} distance"])
    measures = [
        ("map", one.definition, one.metric.label, f"${one.metric.latex}$", one.metric.formula)
        for one in view.headline_views
    ]
    for name in view.graded:
        label, words = GRADED[name]
        words = words[0].upper() + words[1:]
        measures.append((name, view.definition, label, typeset(words), words))
    tables = []
    for measure, definition, label, formula, words in measures:
        cells = _cells(grid, store, [replace(way, definition=definition) for way in ways], measure)
        marks = TESTED if is_tested(measure) else "" if measure == "distinct_codes" else BEST
        decimals, caption = MEASURES[measure].decimals, f"{about}{_over_seeds(cells)}"
        tables.append(PaperTable(label, caption, formula, words, decimals, cells, marks, view.distance))
    cells = _cells(grid, store, ways[:1], "training")
    times = {(method, "", bits): cell for (method, _, bits), cell in cells.items()}  # no direction
    seconds = "Wall-clock seconds of one training"
    tables.append(PaperTable("Training seconds", f"{title}{_over_seeds(times)}", seconds, seconds, 2, times))
    return [table for table in tables if table.cells]


def is_tested(measure: str) -> bool:
    """Whether the measure has a value for each query, so that a paired test can compare methods by it."""
    return measure in ("map", "ndcg_at_100") or measure.startswith("recall_at_")


def _cells(grid: Grid, store: SavedRuns, views: Sequence[View], measure: str) -> dict[tuple[str, str, int], Cell]:
    """Return the cells of a table; the best is marked, with all that a paired test cannot tell apart from it."""
    cells: dict[tuple[str, str, int], Cell] = {}
    better = min if measure in ("median_rank", "training") else max
    for view in views:
        found = points(grid, store, view, measure)
        for bits in grid.comparison.bits:
            column = [point for point in found if point.at == bits]
            has_best = column and measure != "distinct_codes"
            marked = {better(column, key=lambda point: point.mean).title} if has_best else set()
            pairs = compared_pairs(grid, store, replace(view, bits=bits), measure) if is_tested(measure) else []
            marked |= {pair.second for pair in pairs if pair.first == pairs[0].first and not pair.is_clear}
            for point in column:
                seeds, spread = len(point.values), point.deviation if len(point.values) > 1 else None
                cells[point.title, view.direction, bits] = Cell(point.mean, spread, seeds, point.title in marked)
    return cells


def _over_seeds(cells: Mapping[tuple[str, str, int], Cell]) -> str:
    seeds = max((cell.seeds for cell in cells.values()), default=0)
    return f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ", one seed"


def latex_of(grid: Grid, store: SavedRuns, view: View) -> str:
    """Return the tables of `paper_tables` in LaTeX."""
    tables = [table.latex() for table in paper_tables(grid, store, view)]
    return "\n\n".join(["% \\usepackage{booktabs, amsmath}", *tables]) + "\n"


def markdown_of(grid: Grid, store: SavedRuns, view: View) -> str:
    """Return the tables of `paper_tables` in Markdown."""
    return "\n\n".join(table.markdown() for table in paper_tables(grid, store, view)) + "\n"


def table_rows(grid: Grid, store: SavedRuns, view: View) -> list[Row]:
    """Return the cells of `paper_tables` as rows of one table."""
    return [row for table in paper_tables(grid, store, view) for row in table.rows()]


def plain_markdown(text: str) -> str:
    """Return text escaped for a cell or paragraph of Markdown."""
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", text)
