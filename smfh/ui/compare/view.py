"""The results of a comparison: choice of measure, charts, tests of differences, and actions on runs."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from smfh import export
from smfh.experiments.comparison import MAX_RADIUS, Comparison, Grid, View, classifier_work, setting_of
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS
from smfh.jobs import Job, JobContext
from smfh.metrics import AP_DEFINITIONS
from smfh.metrics.significance import Difference, how_tested
from smfh.paper import published_score
from smfh.plots import Published, csv_of
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import RunStore, SavedRuns, check_classifier_cost, current_limits
from smfh.ui.address import current, keep
from smfh.ui.charts import show_charts, show_pickable
from smfh.ui.compare.request import CONTROLS, REQUEST
from smfh.ui.compare.robustness import draw_robustness
from smfh.ui.grids import draw_task
from smfh.ui.page import open_run, queue_position
from smfh.ui.plain import plain
from smfh.ui.server import local_engine, private_key, remember, saved_runs
from smfh.ui.session import UPLOAD

V = TypeVar("V")
LOG_K, CHART, CLICKED, CHOSEN = "compare_log", "chart_compare_map", "compare_clicked", "compare_chosen"
CHARTS_PER_ROW = 2
MAX_BUTTONS = 2  # more directions are shown as a list
CHART_NOTE = (
    "Lines are means over seeds; bands reach from the lowest seed to the highest. The pale, wider band shows "
    "the worst and best order of tied items. Click a point to open that run in Explore."
)
CLASSIFIER_HELP = (
    "Trains classifiers, and kernel ridge regression on the features of SMFH+, without hash codes. A better "
    "hashing method could close the gap between its codes and these reference levels. Takes about a minute on Wiki."
)
METRIC_LABELS = {
    "found": "mAP@100 / relevant found",
    "capped": "mAP@100 / min(R, 100)",
    "all": "mAP@100 / all relevant",
    "full": "mAP, whole ranking",
    "precision": "P@100",
}
CommandWriter = Callable[[Comparison, View], str]  # writes the shell command that repeats a comparison


def draw_results(grid: Grid, write_command: CommandWriter) -> None:
    """Draw the controls and, once a run has finished, charts, significance tests and export buttons."""
    source = grid.comparison.source
    title, bits = st.session_state.pop(CLICKED, (None, 0))
    for method, known in grid.comparison.titles.items():
        if known == title and bits in grid.comparison.bits:
            open_run(source, replace(method, bits=bits, seed=0), (grid.data, grid.split))
    view = choose_view(grid)
    if not grid.found(saved_runs(source)):
        st.info("No run of this comparison is done yet. Press Train; each finished run appears here.")
        return
    published: list[Published] = []  # empty if the view scores in another way than the paper
    for name in dict.fromkeys(method.name for method in grid.comparison.methods):
        for bits in grid.comparison.bits:
            value = published_score(source.name, f"{view.source}->{view.target}", name, "map", bits)
            way = (view.definition, view.protocol, view.distance, source.corruptions)
            if value is not None and way == ("found", "training", "hamming", {}):
                published.append(Published(name, METHODS[name].title, view.direction, bits, value))
    draw_figures(grid, view, published)
    at_one_length = replace(grid.comparison, bits=(view.bits,))
    draw_robustness(grid, view, "" if source.name == UPLOAD else write_command(at_one_length, view))
    draw_exports(grid, view, published, write_command)


def choose_view(grid: Grid) -> View:
    """Draw menus for metric, direction, database, distance, bits and radius; return the chosen view."""
    request = current(REQUEST, CONTROLS)[0]
    directions = [f"{source} → {target}" for source, target in grid.directions]
    lengths = grid.comparison.bits
    if st.session_state.get("compare_direction") not in directions:
        st.session_state["compare_direction"] = directions[0]
    if st.session_state.get("compare_at") not in lengths:
        st.session_state["compare_at"] = min(lengths, key=lambda bits: abs(bits - request.at))
    with st.container(horizontal=True, gap="xsmall", key="compare_view"):
        show = METRIC_LABELS.__getitem__
        definition = st.selectbox("Metric", list(AP_DEFINITIONS), key="compare_definition", format_func=show, width=210)
        look: dict[str, Any] = {"required": True} if len(directions) <= MAX_BUTTONS else {"width": 210}
        choose: Any = st.segmented_control if len(directions) <= MAX_BUTTONS else st.selectbox
        direction: str | None = choose("Direction", directions, key="compare_direction", format_func=plain, **look)
        about = "\n\n".join(f"**{name}**: {words}" for name, words in PROTOCOLS.items())
        protocol = st.segmented_control("Database", list(PROTOCOLS), required=True, key="compare_protocol", help=about)
        about = "\n\n".join(DISTANCES.values())
        distance = st.segmented_control("Distance", list(DISTANCES), required=True, key="compare_distance", help=about)
        count, about = "{} bits".format, "For the curves, the tests and the results at one code length."
        bits = st.selectbox("Code length", lengths, key="compare_at", format_func=count, help=about, width=125)
        radius = st.selectbox("Lookup radius", range(MAX_RADIUS + 1), key="compare_radius", width=105)
    direction, protocol = direction or directions[0], protocol or request.protocol
    distance = distance or request.distance
    request = replace(request, definition=definition, protocol=protocol, direction=direction, distance=distance)
    keep(REQUEST, replace(request, at=bits, radius=radius))
    source, target = grid.directions[directions.index(direction)]
    return View(source, target, definition, protocol, bits, radius, distance)


def draw_figures(grid: Grid, view: View, published: Sequence[Published]) -> None:
    """Draw all charts of a comparison, and tests of whether the differences are more than noise."""
    store, metric = saved_runs(grid.comparison.source), view.metric
    is_private = grid.comparison.source.name == UPLOAD
    found = grid.found(store)
    st.latex(metric.latex, help=metric.words)
    with st.spinner("Reading saved scores …"):  # Streamlit shows it only if reading takes a while
        log, ids = st.session_state.get(LOG_K, False), tuple(record.id for record in found.values())

        def once(make: Callable[[], V], *what: Hashable) -> V:
            """Return `make()`, cached by these runs and `what`; not cached for uploads."""
            return make() if is_private else remember((grid.key, ids, *what), make)

        has_level = store.classifier_level(grid.classifier_key) is not None
        charts = once(lambda: export.every_chart(grid, store, view, published, log), view, log, has_level)
        pairs = {
            one: once(partial(export.compared_pairs, grid, store, one), one, "pairs") for one in view.headline_views
        }
    if len(grid.found(store)) < len(found):
        st.rerun()  # a damaged file was found, and its run must be trained again

    def click() -> None:
        if point := clicked_point(st.session_state[CHART]):
            st.session_state[CLICKED] = point  # opened when the page is drawn again

    left, right = st.columns([3, 2], gap="large")
    with left:
        show_pickable(charts[view.definition], CHART, ("points",), click)
        st.caption(f"{DISTANCES[view.distance]} {CHART_NOTE}")
        draw_classifier_level(grid)
    with right:
        draw_test(pairs)
        draw_open(grid)
    st.markdown("#### Other measures")
    others = [one.definition for one in view.headline_views[1:]] + view.graded
    for start in range(0, len(others), CHARTS_PER_ROW):
        row = others[start : start + CHARTS_PER_ROW]
        show_charts({f"compare_{name}": charts[name] for name in row})
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"#### Results at {view.bits} bits", width="content")
        st.toggle("Log scale for K", key=LOG_K)
    for pair in (("at_k", "recall"), ("radius", "hits"), ("training", "encoding")):
        show_charts({f"compare_{name}": charts[name] for name in pair})


def clicked_point(event: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the method's title and the bits at the clicked point; None for points that are not a run."""
    for point in event["selection"]["points"]:
        if (about := point.get("customdata")) and isinstance(about[0], str):
            return about[0], int(point["x"])
    return None


def draw_test(tested: Mapping[View, Sequence[Difference]]) -> None:
    """Draw significance tests for each metric: every method against the next best, and a table of all pairs."""
    st.markdown("#### Is the difference more than noise?")
    if first := export.winners({view.metric.label: pairs for view, pairs in tested.items()}):
        st.text(first)
    for tab, (view, pairs) in zip(st.tabs([view.metric.label for view in tested]), tested.items(), strict=True):
        with tab:
            for sentence in export.sentences(pairs, view):
                st.text(sentence)
            if pairs:
                with st.expander(f"All {len(pairs)} pairs" if len(pairs) > 1 else "One pair"):
                    alt = f"Differences in {view.metric.label} between all pairs of methods"
                    st.dataframe(export.pair_rows(pairs), hide_index=True, alt=alt)
            st.caption(how_tested(pairs))


def draw_classifier_level(grid: Grid) -> None:
    """Draw the scores of classifiers without hash codes, or the button and progress of their measurement."""
    source = grid.comparison.source
    store = saved_runs(source)
    if (level := store.classifier_level(grid.classifier_key)) is not None:
        st.caption(plain(" ".join(level.notes)))
        return

    def prepare() -> Callable[[JobContext], ClassifierLevel]:
        check_classifier_cost(grid.data, grid.split, current_limits())
        return classifier_work(grid, store)

    def draw_progress(job: Job[ClassifierLevel]) -> None:
        progress = job.reports[-1] if job.reports else queue_position(job) or "starting"
        st.caption(plain(f"Measuring: {progress} …"))

    key, icon = private_key(source, grid.classifier_key), ":material/vertical_align_top:"
    draw_task("classifiers", key, "Measure reference levels", prepare, draw_progress, icon, CLASSIFIER_HELP)


def draw_open(grid: Grid) -> None:
    """Draw a menu of the finished runs, and a button that opens the selected run in Explore."""
    source, titles = grid.comparison.source, grid.comparison.titles
    found = list(grid.found(saved_runs(source)))
    if st.session_state.get(CHOSEN) not in found:
        st.session_state.pop(CHOSEN, None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = st.selectbox(
            "Run",
            found,
            key=CHOSEN,
            format_func=lambda run: f"{titles[setting_of(run)]} · {run.bits} bits · seed {run.seed}",
        )
        if st.button("Open in Explore", icon=":material/open_in_new:", key="compare_open_button"):
            open_run(source, method, (grid.data, grid.split))


def draw_exports(grid: Grid, view: View, published: Sequence[Published], write_command: CommandWriter) -> None:
    """Draw the table of scores, export buttons for report and tables, and the shell command."""
    source = grid.comparison.source
    store, command = saved_runs(source), "" if source.name == UPLOAD else write_command(grid.comparison, view)
    directions = export.table_directions(grid, view)
    files: dict[str, tuple[str, str, Callable[[], str]]] = {
        "html": ("Report (HTML)", "text/html", lambda: make_report(grid, store, view, command, published)),
        "csv": ("Scores (CSV)", "text/csv", lambda: csv_of(export.csv_rows(grid, store, view, directions))),
        "tex": ("Tables (LaTeX)", "text/x-tex", lambda: export.latex_of(grid, store, view)),
        "md": ("Tables (Markdown)", "text/markdown", lambda: export.markdown_of(grid, store, view)),
        "table.csv": ("Tables (CSV)", "text/csv", lambda: csv_of(export.table_rows(grid, store, view))),
    }
    st.markdown("#### Export")
    alt = "Every measure of every method and direction, mean and standard deviation over seeds"
    st.dataframe(export.score_rows(grid, store, view), hide_index=True, alt=alt)
    with st.container(horizontal=True):
        for kind, (label, mime, make) in files.items():
            name, icon = f"smfh_{source.name}.{kind}", ":material/download:"
            st.download_button(label, make, name, mime, f"compare_{kind}", icon=icon, on_click="ignore")
    if command:
        st.caption("The same comparison in a terminal; saved runs are not trained again:")
        st.code(command, language="bash", wrap_lines=True)
    else:
        st.caption("Runs on uploaded data are only in memory: export them before you leave.")


def make_report(grid: Grid, store: SavedRuns, view: View, command: str, published: Sequence[Published] = ()) -> str:
    """Return the HTML report, made in another process so that no other page has to wait.

    That process reads runs on disk itself; runs in memory are sent to it, without pictures.
    """
    runs = store.folder if isinstance(store, RunStore) else store
    without_pictures = replace(grid, data=grid.data.without_looks())
    return local_engine().call(export.html_of, without_pictures, runs, view, command, tuple(published))
