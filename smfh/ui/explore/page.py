"""The Explore page: the wall of results, the scores and curves of a run, and the pinned run."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from smfh.hamming import DISTANCES, unpack
from smfh.metrics import AP_DEFINITIONS, GRADED
from smfh.paper import published_score
from smfh.plots import Curve, precision_at_k, recall_at_k
from smfh.retrieval.bits import GROUP_CORRELATION, correlate, group_bits
from smfh.retrieval.classifiers import has_one_class, outermost_classes
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import Run
from smfh.types import BoolArray
from smfh.ui.charts import show_charts
from smfh.ui.explore.wall import draw_first_wall, draw_wall
from smfh.ui.items import draw_gallery
from smfh.ui.page import begin_training, draw_convergence
from smfh.ui.plain import plain
from smfh.ui.server import derive
from smfh.ui.session import UPLOAD, pin, pinned_run
from smfh.ui.settings import differences

SUBTITLE = "Type words, find pictures. Both become short binary codes; the nearer the codes, the better the match."
MAX_DIRECTIONS = 6  # a run with more directions shows the scores of only two
CHANGED_QUERIES = 5
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FEW_ITEMS = 200  # below it, scores are called uncertain
WALL_DRAWN = "wall_drawn"  # session key

_AFTER_WALL = st.components.v2.component(
    "smfh_after_wall",
    js="""
    export default function ({ setTriggerValue }) {
      const end = performance.now() + 5000  // there is no wall if the query is not valid
      const timer = setInterval(() => {
        const pictures = [...document.querySelectorAll(".st-key-wall img")]
        if ((!pictures.length || pictures.some((picture) => !picture.complete)) && performance.now() < end) return
        clearInterval(timer)
        setTriggerValue("drawn", true)
      }, 50)
      return () => clearInterval(timer)
    }
    """,
)


def draw_explore() -> None:
    """Draw the results and scores of the current run; while it trains, those of the last finished run."""
    (current, shown), pinned = begin_training("Explore", SUBTITLE), pinned_run()
    left, right = st.columns([7, 3], gap="medium")
    with left:
        if shown is None:
            draw_first_wall(current)
        else:
            draw_wall(shown, current)
    with right, st.container(key="scores"):
        if shown is None:
            st.caption("Scores appear when the run has finished.")
        else:
            draw_scores(shown, pinned)
    if shown is not None:
        with st.container(key="below"):
            draw_convergence(current, shown, pinned)
            if shown.data.has_labels:
                draw_curves(shown, pinned)
            draw_pin(shown, pinned)


@st.fragment
def draw_scores(run: Run, pinned: Run | None) -> None:
    """Draw score cards for the first two directions, an explanation, and a table of all scores."""
    directions = run.directions[:2] if len(run.directions) > MAX_DIRECTIONS else run.directions
    for source, target in directions[:2]:
        _draw_card(run, pinned, source, target)
    st.caption(describe_score(run, directions[:2]))
    with st.popover("All scores and definitions", width="stretch", key="all_figures", on_change="rerun") as popover:
        if not popover.open:  # the library of tables takes longer to load than the page
            return
        columns = {f"{source} → {target}": score_column(run, source, target) for source, target in directions}
        measures = list(dict.fromkeys(name for column in columns.values() for name in column))
        table = {name: [plain(column.get(name, "")) for name in measures] for name, column in columns.items()}
        alt = "Scores of each direction with chance level and range of ties"
        st.table({"Score": measures} | table, hide_index=True, alt=alt)
        st.caption(derive(run, "bits in words", lambda: describe_code(run)))
        scores = run.scores(*directions[0])
        if scores.queries_without_relevant and run.data.has_labels:
            st.caption(f"{scores.queries_without_relevant} queries have no relevant item and score 0.")
        definition = scores.average_precision["found"].definition
        st.markdown(f"**{definition.label}**: {definition.words}")
        st.latex(definition.latex)
        st.markdown(
            f"**Database.** {PROTOCOLS['training']}\n\n**Unseen items.** {PROTOCOLS['unseen']}\n\n"
            "**Chance** is the same score for a random order. **Ties**: items at the same distance are in "
            "database order; another order could give any score in the range shown.\n\n"
            f"{' '.join(DISTANCES.values())}\n\n"
            + "\n\n".join(f"**{label}**: {words}." for label, words in GRADED.values())
        )


def _draw_card(run: Run, pinned: Run | None, source: str, target: str) -> None:
    """Draw mAP@100 with its error margin, on unseen and on training items, and the change from the pinned run.

    Without labels, only the matching item is known to be relevant: draw how often it is found.
    """
    with st.container(border=True, gap="xxsmall"):
        st.text(f"{source} → {target}{' · mAP@100' if run.data.has_labels else ''}")
        if not run.data.has_labels:
            found = run.scores(source, target, "unseen").pair_retrieval
            items, words = len(run.split.queries), GRADED["recall_at_10"][1]
            label, value = "R@10, unseen items", f"{found['recall_at_10']:.3f}"
            help_text = f"{words}. By chance: {min(10 / items, 1):.3f}. Median rank {found['median_rank']:g}."
            st.metric(label, value, help=help_text)
            return
        with st.container(horizontal=True, gap="small"):
            # unseen items first for an upload, as people add items
            for protocol in sorted(PROTOCOLS, reverse=run.source.name == UPLOAD):
                score, gain, change = (run.scores(source, target, protocol).average_precision["found"], 0.0, None)
                if pinned is not None and pinned.key != run.key and (source, target) in pinned.directions:
                    gain = score.mean - pinned.scores(source, target, protocol).mean_average_precision
                    change = "same as pinned" if abs(gain) < 5e-4 else f"{gain:+.3f} vs pinned"
                st.metric(
                    f"{protocol} items",
                    f"{score.mean:.3f} ± {score.margin:.3f}",
                    change,
                    delta_color="off" if abs(gain) < 5e-4 else "normal",
                    help=f"{PROTOCOLS[protocol]} By chance: {score.chance:.3f}. {score.worst:.3f} to "
                    f"{score.best:.3f} over all orders of tied items. By asymmetric distance: "
                    f"{run.scores(source, target, protocol, 'asymmetric').mean_average_precision:.3f}.",
                )


def describe_score(run: Run, directions: Sequence[tuple[str, str]]) -> str:
    """Return a text that explains the scores on the cards: what they measure, how, and their chance level."""
    if not run.data.has_labels:
        queries = len(run.split.queries)
        return (
            "**R@10**: share of held-out queries whose matching item is among the first 10 results, by Hamming "
            f"distance, of {queries:,} unseen items. By chance {min(10 / queries, 1):.2f}. The data has no "
            "labels, so scores that need relevant items are not given. One split, one seed; trained in "
            f"{run.hasher.seconds:.1f} s."
        )
    found = [run.scores(*direction, protocol) for direction in directions for protocol in PROTOCOLS]
    chances = sorted({f"{scores.average_precision['found'].chance:.2f}" for scores in found})
    origin = f"{run.data.label_origin} " if run.data.label_origin else ""
    few = (
        f" **With {len(run.data):,} items, scores are uncertain**: see the intervals (±)."
        if len(run.data) < FEW_ITEMS
        else ""
    )
    first = (
        " Unseen items are first, because items that you add later are encoded like them."
        if run.source.name == UPLOAD
        else ""
    )
    return (
        "**mAP@100**: share of relevant items among the first results by Hamming distance, averaged over the places "
        f"of the relevant items in the first 100 and over {found[0].queries:,} held-out queries. Relevant results "
        f"{describe_relevance(run.data.labels)}. {origin}"
        f"By chance {' to '.join(chances[:: max(len(chances) - 1, 1)])}. "
        f"±: 95 % interval over queries. Training items: {len(run.split.train):,}, with codes learnt from "
        f"their labels. Unseen items: encoded without labels.{first} One split, one seed; trained in "
        f"{run.hasher.seconds:.1f} s.{few}"
    )


def describe_relevance(labels: BoolArray) -> str:
    """Return the end of a sentence that says which results are relevant; classes that contain others are groups."""
    outermost = outermost_classes(labels)
    one, several = ("class", "classes") if len(outermost) == labels.any(axis=0).sum() else ("group", "groups")
    number = NUMBER_WORDS[len(outermost)] if len(outermost) < len(NUMBER_WORDS) else f"{len(outermost):,}"
    if has_one_class(labels[:, outermost]):
        return f"are in the query's {one}, one of {number}"
    return f"share at least one of {number} {several} with the query"


def score_column(run: Run, source: str, target: str) -> dict[str, str]:
    """Return the scores of one direction by name, as texts for the table."""
    scores, unseen = (run.scores(source, target, protocol) for protocol in PROTOCOLS)
    pairs = {
        "Matching unseen item": f"R@1 {unseen.graded['recall_at_1']:.3f}, R@5 {unseen.graded['recall_at_5']:.3f}, "
        f"R@10 {unseen.graded['recall_at_10']:.3f}, median rank {unseen.graded['median_rank']:g}"
    }
    if not run.data.has_labels:
        return pairs
    score, on_unseen = (which.average_precision["found"] for which in (scores, unseen))
    better = [run.scores(source, target, protocol, "asymmetric") for protocol in PROTOCOLS]
    column = {
        score.definition.label: f"{score.mean:.3f} ± {score.margin:.3f}",
        "mAP, whole ranking": f"{scores.average_precision['full'].mean:.3f}",
        "P@100": f"{scores.precision_at_100:.3f}",
        "NDCG@100": f"{scores.ndcg_at_100:.3f}",
        "By chance": f"{score.chance:.3f}",
        "Distinct codes": ", ".join(
            f"{'–' if one.distinct_codes is None else f'{one.distinct_codes:,}'} of {items:,} {one.protocol} items"
            for one, items in ((scores, len(run.split.train)), (unseen, len(run.split.queries)))
        ),
        "Lowest and highest over all orders of tied items": f"{score.worst:.3f} – {score.best:.3f}",
        "Unseen items": f"{on_unseen.mean:.3f} ± {on_unseen.margin:.3f}",
        "Unseen items, by chance": f"{on_unseen.chance:.3f}",
        **pairs,
        "Asymmetric distance": ", ".join(
            f"{AP_DEFINITIONS[name].label} {value:.3f}" for name, value in better[0].headline.items()
        ),
        "Asymmetric, unseen items": f"{better[1].mean_average_precision:.3f}",
    }
    method = run.method
    published = published_score(run.data.name, f"{source}->{target}", method.name, "map", method.bits)
    return column if published is None else column | {"Published": f"{published:.3f}"}


def describe_code(run: Run) -> str:
    """Return a sentence that counts the distinct, dead, near-duplicate and unbalanced bits of a run's codes."""
    codes = unpack(next(iter(run.hasher.database_codes.values())), run.hasher.bits)
    correlation, shares, bits = correlate(codes), codes.mean(axis=0), run.hasher.bits
    different, dead = len(group_bits(correlation)), np.count_nonzero(np.isnan(correlation.diagonal()))
    uneven = np.count_nonzero(abs(shares - 0.5) > 0.4)
    return (
        f"Of {bits} bits, {different} are distinct, {bits - different - dead} near-duplicates "
        f"(|correlation| ≥ {GROUP_CORRELATION}) and {dead} dead; {uneven} are on for less than 10 % or more "
        "than 90 % of the items."
    )


@st.fragment
def draw_curves(run: Run, pinned: Run | None) -> None:
    """Draw precision and recall by number of results, for this run and the pinned run.

    In a new visit they are drawn when the browser has drawn the wall above: the chart library, which is larger
    than all the rest of the page, would delay the pictures.
    """
    if not st.session_state.get(WALL_DRAWN):
        st.session_state[WALL_DRAWN] = True  # any later run of this script draws the charts
        _AFTER_WALL(key="after_wall", on_drawn_change=lambda: None)
        return
    st.markdown("#### Precision and recall by number of results")
    protocol, directions, depth, scale = st.columns([2, 3, 3, 1], vertical_alignment="bottom")
    database = protocol.segmented_control(
        "Database", ["training", "unseen"], default="training", required=True, key="curve_protocol"
    )
    every = {f"{source} → {target}": (source, target) for source, target in run.directions}
    chosen = directions.pills(
        "Direction",
        list(every),
        selection_mode="multi",
        default=list(every)[:2],
        key="curve_directions",
        format_func=plain,
    )
    deepest = max(len(run.scores(*every[one], database).precision) for one in list(every)[:1] + chosen)
    st.session_state["curve_k"] = min(st.session_state.get("curve_k", 100), deepest)
    K = depth.slider("Number of results (K)", 1, max(deepest, 2), key="curve_k")
    log = scale.toggle("Log scale for K", key="curve_log")
    curves = [
        Curve(
            which.method.name,
            f"{which.method.title}, {which.method.bits} bits",
            (which.scores(*every[direction], database),),
            pinned=which is not run,
        )
        for which in ([run] if pinned is None or pinned is run else [run, pinned])
        for direction in chosen
        if every[direction] in which.directions
    ]
    show_charts({"precision": precision_at_k(curves, K, log), "recall": recall_at_k(curves, K, log)})


def draw_pin(run: Run, pinned: Run | None) -> None:
    """Draw a button that pins or unpins this run and, if another run is pinned, the changes from it."""
    if pinned is not None and pinned is not run:
        st.markdown("#### Compared with the pinned run")
        st.text(f"Changed: {', '.join(differences(pinned.method, run.method)) or 'only the data'}")
    with st.container(horizontal=True, vertical_alignment="center", key="pin"):
        if pinned is None:
            st.button("Pin this run", icon=":material/keep:", on_click=pin, args=(run,), key="pin_run")
            st.caption("Pin this run to compare the next one with it.")
            return
        st.button("Unpin", icon=":material/keep_off:", on_click=pin, args=(None,), key="pin_run")
        if pinned is run:
            st.caption("This run is pinned. Train with different settings to compare the new run with it.")
            return
    if (pinned.key.data, pinned.key.split) != (run.key.data, run.key.split):
        st.caption("The pinned run used different data, so single queries cannot be compared.")
        return
    source, target = run.directions[0]
    now, before = (which.scores(source, target).average_precision["found"] for which in (run, pinned))
    gain = now.by_query - before.by_query
    order = np.argsort(-np.abs(gain), kind="stable")[:CHANGED_QUERIES]
    st.caption(plain(f"Queries whose AP changed most, {source} → {target}:"))
    rows = [int(run.split.queries[place]) for place in order]
    draw_gallery(run.data, rows, [(f"AP {gain[place]:+.3f}",) for place in order], "changed")
