"""One iteration, seen: the small example step by step, all matrices with their numbers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import streamlit as st

from smfh.hashing import SMFH
from smfh.lessons.entries import explain
from smfh.lessons.evidence import Wall
from smfh.lessons.example import FEWEST, MOST, Example, make_example, usual_rows
from smfh.lessons.iteration import (
    ABOUT,
    Moment,
    Place,
    Walk,
    matrices_of,
    most_moved,
    moved,
    rank_items,
    walk,
)
from smfh.memory import Memory
from smfh.types import InputError, MultimodalDataset, parameters
from smfh.ui.address import current, hold
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.items import cut, pictures_of
from smfh.ui.learn.matrices import Cells, cells_of, show_matrices
from smfh.ui.learn.studied import CONTROLS, MOMENTS, MOST_BITS, STEP_NAMES, Studied, studied_part, study
from smfh.ui.learn.symbols import draw_equation, draw_errata_of
from smfh.ui.learn.walls import Item, items_of, show_walls, small_picture

OBJECTIVE = "The sum of all terms: how far codes, features, labels and hash functions are from agreeing."
PLAYING, CLICKED = "playing_since", f"{CONTROLS}matrices"
BEAT = 2.0  # seconds of a step while it plays
MOST_OFFERED = 3_000  # items to choose from
SHORT = 16  # characters of a name
ONE_LINE = 110  # of LaTeX
WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)
TITLES = {
    "features": ("X", "features: what is known of each item"),
    "rebuilt": ("Y Uᵀ", "what codes and bases make of the features: compare it with X"),
    "basis": ("U", "basis: what each bit says of each feature"),
    "function": ("W", "hash function: how each feature votes for each bit"),
    "relaxed": ("Y", "relaxed codes: how much each item is of each bit; all modalities share them"),
    "threshold": ("ȳ", "thresholds: the mean of each bit over all items; above it a bit is on"),
    "code": ("codes", "the bits themselves: 1 where Y is above the threshold"),
    "graph": ("Â", "label graph: classes in common, of the items that were drawn (marked orange)"),
}
PAIR = ("features", "rebuilt")
_walks: Memory[tuple[str, tuple[int, ...], SMFH], Walk] = Memory(64)


def draw_iteration(studied: Studied, data: MultimodalDataset, present: bool) -> None:
    """The controls, and what there is to see at the moment that they say."""
    try:
        walked = walk_of(studied, data)
    except InputError as error:
        st.warning("These items make no example; choose others, or begin anew.")
        st.text("\n".join(error.problems))
        st.button("The usual items", on_click=study, args=(studied, data), kwargs={"rows": usual_rows(data)})
        return
    _draw_steps(studied, data)
    st.fragment(_draw_moment, run_every=BEAT / 2 if PLAYING in st.session_state else None)(walked, data)
    if not present:
        _draw_settings(studied, walked, data)


def walk_of(studied: Studied, data: MultimodalDataset) -> Walk:
    """The training of the example as it is set, walked once for all who look at it."""
    key = (data.fingerprint, studied.rows, studied.method)
    return _walks.get(key, lambda: walk(make_example(data, studied.rows), studied.method))


def now(studied: Studied) -> Studied:
    """Where the visitor is: where they went, or where the film has come to."""
    if PLAYING not in st.session_state:
        return studied
    start, since = st.session_state[PLAYING]
    return studied.moved_to(min(start + int((monotonic() - since) / BEAT), MOMENTS - 1))


def _draw_steps(studied: Studied, data: MultimodalDataset) -> None:
    """Back, forward, play; iteration and step. A button that is put up anew can miss a click: no fragment."""
    playing, here = PLAYING in st.session_state, now(studied)

    def to(moment: int) -> None:
        st.session_state.pop(PLAYING, None)
        study(here.moved_to(min(max(moment, 0), MOMENTS - 1)), data)

    def play() -> None:
        st.session_state[PLAYING] = (here.moment if here.moment < MOMENTS - 1 else 0, monotonic())

    def pause() -> None:
        stopped = now(studied)
        st.session_state.pop(PLAYING, None)
        study(stopped, data)

    with st.container(horizontal=True, vertical_alignment="bottom", key="learn_steps"):
        for label, icon, order in (
            ("Back", ":material/skip_previous:", lambda: to(here.moment - 1)),
            ("Forward", ":material/skip_next:", lambda: to(here.moment + 1)),
            ("Pause", ":material/pause:", pause) if playing else ("Play", ":material/play_arrow:", play),
        ):
            st.button(label, icon=icon, on_click=order, key=f"{CONTROLS}{label.lower()}")
        st.select_slider(
            "Iteration",
            range(1, here.method.iterations + 1),
            key=hold(f"{CONTROLS}iteration", here.iteration),
            on_change=lambda: to(replace(here, iteration=st.session_state[f"{CONTROLS}iteration"]).moment),
            width=220,
        )
        st.segmented_control(
            "Step",
            STEP_NAMES,
            format_func=lambda name: ABOUT[name].short,
            required=True,
            key=hold(f"{CONTROLS}step", here.step),
            on_change=lambda: to(replace(here, step=st.session_state[f"{CONTROLS}step"]).moment),
        )


def _draw_moment(walked: Walk, data: MultimodalDataset) -> None:
    """Equation, terms, matrices and ranking at the moment; drawn again by itself while it plays."""
    studied = current(studied_part(data), CONTROLS)[0]
    here = now(studied)
    if PLAYING in st.session_state and here.moment == MOMENTS - 1:
        st.session_state.pop(PLAYING)
        study(here, data)
        st.rerun()
    moment, about = walked.at(here.iteration, here.step), ABOUT[here.step]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.subheader(
            f"Iteration {here.iteration}, step {STEP_NAMES.index(here.step) + 1}: {about.title}", anchor=False
        )
        draw_equation(about.equation)
        st.markdown(about.words)
    with right:
        draw_terms(moment)
        draw_errata_of(about.in_paper, f"errata_{here.step}")
    place, row, column = read_entry(here.entry, walked, moment) or most_moved(walked.problem, moment)
    draw_entry(walked, moment, place, row, column)

    def click() -> None:
        study(here, data, entry=st.session_state[CLICKED].cell)

    show_matrices(groups_of(walked, moment), f"{':'.join(place)}:{row}:{column}", CLICKED, click)
    st.caption("Framed orange: moved by this step. Click any entry to see how it came about, numbers put in.")
    show_walls(ranking_of(here, walked, moment), "learn_ranking")


def draw_terms(moment: Moment) -> None:
    """The objective before and after, and which of its terms moved by how much."""
    before, after = (sum(terms.values()) for terms in (moment.terms_before, moment.terms_after))
    st.markdown(f"Objective {before:,.3f} → **{after:,.3f}**", help=OBJECTIVE)
    st.caption("  \n".join(term_lines(moment)) or "No term moves here.")
    if after > before:
        sample = moment.step == "sample"
        st.caption(
            "It rose: other neighbours." if sample else "It rose: not every step promises to lower it."
        )


def term_lines(moment: Moment) -> list[str]:
    """Such as ▼ reconstruction (text) fell by 0.120 to 0.435."""
    return [
        f"{'▼' if rise < 0 else '▲'} {term} {'fell' if rise < 0 else 'rose'} by {abs(rise):.3f} to "
        f"{moment.terms_after[term]:.3f}"
        for term, rise in moment.changes.items()
        if abs(rise) >= 5e-4
    ]


def draw_entry(walked: Walk, moment: Moment, place: Place, row: int, column: int) -> None:
    """An entry with its numbers put in."""
    update = explain(walked, moment, place, row, column)
    rows, columns = names_of(walked, place)
    with st.container(border=True, gap="xxsmall", key="learn_entry"):
        was = f", before {update.before:.5g}" if update.before != update.after else ""
        of = f" of {place[1]}" if place[1] else ""
        what = f"{TITLES[place[0]][0]}{of}, {rows[row]}, {columns[column]}"
        st.text(f"{what}: {update.after:.5g}{was}. {update.words}")
        if update.symbols:
            numbers = rf"= {update.numbers} = \mathbf{{{update.after:.5g}}}"
            if len(update.symbols + numbers) <= ONE_LINE:
                draw_equation(update.symbols + numbers)
            else:
                draw_equation(rf"\begin{{gathered}} {update.symbols} \\ {numbers} \end{{gathered}}")


def read_entry(text: str | None, walked: Walk, moment: Moment) -> tuple[Place, int, int] | None:
    """Matrix, row and column of what a link or a click tells; None for what is not there."""
    told = re.fullmatch(r"(\w+):(.*):(\d{1,3}):(\d{1,3})", text or "")
    if told is None:
        return None
    place, row, column = (told[1], told[2]), int(told[3]), int(told[4])
    matrix = matrices_of(walked.problem, moment.after).get(place)
    is_there = matrix is not None and row < matrix.shape[0] and column < matrix.shape[1]
    return (place, row, column) if is_there else None


def names_of(walked: Walk, place: Place) -> tuple[Sequence[str], Sequence[str]]:
    """What the rows and the columns of a matrix are called."""
    example, (name, modality) = walked.example, place
    items = [cut(caption_of(example.data, row), SHORT) for row in range(len(example.data))]
    bits = [f"bit {k}" for k in range(walked.problem.method.bits)]
    features = example.features.get(modality, ())
    return {
        "features": (items, features),
        "rebuilt": (items, features),
        "basis": (features, bits),
        "function": (features, bits),
        "relaxed": (items, bits),
        "code": (items, bits),
        "threshold": (["mean"], bits),
        "graph": (items, items),
    }[name]


def groups_of(walked: Walk, moment: Moment) -> dict[str, list[Cells]]:
    """Every matrix once: what comes out of the step, what goes in, X beside what rebuilds it, the rest."""
    about, places = ABOUT[moment.step], matrices_of(walked.problem, moment.after)
    order = [*about.gives, *about.takes, *TITLES]
    pairs = {place: f"{TITLES['features'][0]} ≈ {TITLES['rebuilt'][0]}, {place[1]}" for place in places}
    groups: dict[str, list[Cells]] = {"Comes out": [], "Goes in": []}
    for place in sorted(places, key=lambda place: order.index(place[0])):
        name = place[0]
        given, taken = name in about.gives, name in about.takes
        group = "Comes out" if given else "Goes in" if taken else "Stays as it is"
        title = pairs[place] if name in PAIR else group
        groups.setdefault(title, []).append(_cells(walked, moment, place))
    for cells in groups.values():
        cells.sort(key=lambda one: one.id.startswith(PAIR[1]))  # X before what rebuilds it
    return groups


def _cells(walked: Walk, moment: Moment, place: Place) -> Cells:
    name, modality = place
    rows, columns = names_of(walked, place)
    (letter, meaning), of_items = TITLES[name], name not in ("basis", "function", "threshold")
    pictures = pictures_in(walked.example) if of_items else ()
    return cells_of(
        f"{name}:{modality}",
        f"{letter} {modality}".strip(),
        meaning,
        rows,
        columns,
        matrices_of(walked.problem, moment.after)[place],
        moved(walked.problem, moment)[place],
        pictures,
        pictures if name == "graph" else (),
        [row in moment.after.rows for row in range(len(rows))] if name == "graph" else (),
        digits=0 if name in ("code", "graph") else 2,
    )


def pictures_in(example: Example) -> list[str]:
    """The addresses of the items' pictures."""
    return [small_picture(look) for look in pictures_of(example.data, range(len(example.data)), None)]


def ranking_of(studied: Studied, walked: Walk, moment: Moment) -> list[tuple[str, list[Item]]]:
    """The items by the distance of their codes from that of the item that asks with its words."""
    data = walked.example.data
    asks, source = min(studied.asks, len(data) - 1), asking_modality(walked)
    order, distances = rank_items(walked.problem, moment.after, source, asks)
    rows = order.tolist()
    right = (data.labels[rows] & data.labels[asks]).any(axis=1).tolist()
    codes = matrices_of(walked.problem, moment.after)["code", ""].astype(int)
    notes = [
        ("".join(map(str, codes[row])), in_bits(int(away))) for row, away in zip(rows, distances, strict=True)
    ]
    title = f"Ranking: “{caption_of(data, asks)}” asks by {source}, counting bits that differ"
    return [(title, items_of(data, Wall(title, tuple(rows), tuple(right)), notes))]


def asking_modality(walked: Walk) -> str:
    """Words ask, where there are any."""
    names = list(walked.example.features)
    return "text" if "text" in names else names[-1]


def _draw_settings(studied: Studied, walked: Walk, data: MultimodalDataset) -> None:
    """Weights, sample, bits and items: each changes everything above at once."""
    about = parameters(SMFH)
    with st.expander("Change the example", icon=":material/tune:", key="learn_settings"):
        with st.container(horizontal=True):
            _slide(studied, data, "alpha", "α", WEIGHTS, about["graph_weight"].help)
            _slide(studied, data, "mu", "μ", WEIGHTS, about["projection_weight"].help)
            _slide(studied, data, "sample", "m", range(2, len(studied.rows) + 1), about["graph_sample"].help)
            _slide(studied, data, "bits", "bits", range(2, MOST_BITS + 1), about["bits"].help)
        offered = sorted({*range(min(len(data), MOST_OFFERED)), *studied.rows})
        st.multiselect(
            f"Items, {FEWEST} to {MOST}",
            offered,
            key=hold(f"{CONTROLS}rows", list(studied.rows)),
            format_func=lambda row: caption_of(data, row),
            max_selections=MOST,
            on_change=lambda: study(
                studied, data, rows=tuple(st.session_state[f"{CONTROLS}rows"]), entry=None, asks=0
            ),
        )
        st.selectbox(
            "Which one asks",
            range(len(studied.rows)),
            key=hold(f"{CONTROLS}asks", min(studied.asks, len(studied.rows) - 1)),
            format_func=lambda item: caption_of(data, studied.rows[item]),
            on_change=lambda: study(studied, data, asks=st.session_state[f"{CONTROLS}asks"]),
        )
        st.caption(
            "Features of the text are its words, weighed and scaled to length 1; those of a picture are "
            "the shares of its colours. α and μ suit so few items; with thousands the paper has 2 and 25."
        )


def _slide(
    studied: Studied, data: MultimodalDataset, name: str, label: str, values: Sequence[Any], help: str
) -> None:
    key, value = f"{CONTROLS}{name}", getattr(studied, name)
    st.select_slider(
        label,
        sorted({*values, value}),
        key=hold(key, value),
        help=help,
        on_change=lambda: study(studied, data, **{name: st.session_state[key]}),
        width=200,
    )
