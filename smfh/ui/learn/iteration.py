"""One iteration, seen: the small example step by step, all matrices with their numbers."""

from dataclasses import replace
from time import monotonic
from typing import Any

import streamlit as st

from smfh.lessons.entries import explain
from smfh.lessons.evidence import Wall
from smfh.lessons.example import usual_rows
from smfh.lessons.iteration import ABOUT, Moment, Place, Walk, matrices_of, most_moved, rank_items
from smfh.types import InputError, MultimodalDataset
from smfh.ui.address import current, hold
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.learn.example import draw_settings, walk_of
from smfh.ui.learn.matrices import show_matrices
from smfh.ui.learn.studied import CONTROLS, MOMENTS, STEP_NAMES, Studied, studied_part, study
from smfh.ui.learn.symbols import draw_equation, draw_errata_of
from smfh.ui.learn.tables import TITLES, groups_of, names_of, read_entry
from smfh.ui.learn.walls import Item, items_of, show_walls

OBJECTIVE = "The sum of all terms: how far codes, features, labels and hash functions are from agreeing."
STYLE = """<style>.stMain .katex-display { overflow: auto hidden; }
@media (max-width: 640px) { .stMain .katex { font-size: .85em; } }</style>"""  # long equations scroll
PLAYING, CLICKED = "playing_since", f"{CONTROLS}matrices"
BEAT = 2.0  # seconds of a step while it plays
ONE_LINE = 110  # of LaTeX


def draw_iteration(studied: Studied, data: MultimodalDataset) -> None:
    """The controls, and what there is to see at the moment that they say."""
    st.html(STYLE)
    try:
        walked = walk_of(studied, data)
    except InputError as error:
        st.warning("These items make no example; choose others, or begin anew.")
        st.text("\n".join(error.problems))
        st.button("The usual items", on_click=study, args=(studied, data), kwargs={"rows": usual_rows(data)})
    else:
        _draw_steps(studied, data)
        st.fragment(_draw_moment, run_every=BEAT / 2 if PLAYING in st.session_state else None)(walked, data)
    draw_settings(studied, data)


def now(studied: Studied) -> Studied:
    """Where the visitor is: where they went, or where the film has come to."""
    if PLAYING not in st.session_state:
        return studied
    start, since = st.session_state[PLAYING]
    return studied.moved_to(min(start + int((monotonic() - since) / BEAT), MOMENTS - 1))


def _draw_steps(studied: Studied, data: MultimodalDataset) -> None:
    """Back, forward, play; iteration and step. A button that is put up anew can miss a click: no fragment."""
    playing, here = PLAYING in st.session_state, now(studied)

    def go(steps: int = 0, **changes: Any) -> None:
        """From where it has come to by now."""
        moment = replace(now(studied), **changes).moment + steps
        st.session_state.pop(PLAYING, None)
        study(studied.moved_to(min(max(moment, 0), MOMENTS - 1)), data)

    def play() -> None:
        st.session_state[PLAYING] = (here.moment if here.moment < MOMENTS - 1 else 0, monotonic())

    with st.container(horizontal=True, vertical_alignment="bottom", key="learn_steps"):
        for label, icon, order in (
            ("Back", ":material/skip_previous:", lambda: go(-1)),
            ("Forward", ":material/skip_next:", lambda: go(1)),
            ("Pause", ":material/pause:", go) if playing else ("Play", ":material/play_arrow:", play),
        ):
            st.button(label, icon=icon, on_click=order, key=f"{CONTROLS}{label.lower()}")
        st.select_slider(
            "Iteration",
            range(1, here.method.iterations + 1),
            key=hold(f"{CONTROLS}iteration", here.iteration),
            on_change=lambda: go(iteration=st.session_state[f"{CONTROLS}iteration"]),
            width=220,
        )
        st.segmented_control(
            "Step",
            STEP_NAMES,
            format_func=lambda name: ABOUT[name].short,
            required=True,
            key=hold(f"{CONTROLS}step", here.step),
            on_change=lambda: go(step=st.session_state[f"{CONTROLS}step"]),
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
            if len(update.symbols + numbers) <= ONE_LINE and r"\\" not in numbers:
                draw_equation(update.symbols + numbers)
            else:
                draw_equation(rf"\begin{{gathered}} {update.symbols} \\ {numbers} \end{{gathered}}")


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
