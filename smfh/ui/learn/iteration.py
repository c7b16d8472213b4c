"""The iterations of the small example, step by step, with the numbers of all matrices."""

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import SMFH
from smfh.lessons.diagram import MEANINGS
from smfh.lessons.example import MAX_ITEMS, MIN_ITEMS, Example, default_rows, make_example
from smfh.lessons.lesson_runs import Gallery
from smfh.lessons.notebook import make_notebook, make_script, step_code
from smfh.lessons.symbols import meanings_in
from smfh.lessons.walkthrough import STEP_INFO, STEP_NAMES, Formula, Step, Walkthrough, explain_entry, walk_through
from smfh.memory import BoundedCache
from smfh.paper import ERRATA, Erratum
from smfh.types import InputError, MultimodalDataset, parameters
from smfh.ui.address import current, hold
from smfh.ui.charts import offer_file
from smfh.ui.items import caption_of, in_bits
from smfh.ui.learn import components
from smfh.ui.learn.state import (
    CONTROLS,
    MAX_BITS,
    POSITIONS,
    LearnState,
    change_state,
    control,
    learn_part,
    played_to,
    start_playing,
)
from smfh.ui.page import PAGES

OBJECTIVE_HELP = "The sum of all terms: how much codes, features, labels and hash functions disagree. Lower is better."
STYLE = """<style>.stMain .katex-display { overflow: auto hidden; }
@media (max-width: 640px) { .stMain .katex { font-size: .85em; } }</style>"""  # long equations scroll
# all type follows the width of the screen, so that a step fits on any screen of 16:9
PRESENTATION_STYLE = """<style>html { font-size: max(1.2vw, 12px) !important; }
.stMainBlockContainer [data-testid="stVerticalBlock"] { gap: .35rem; }
.stMainBlockContainer { padding-top: .2rem; }
.stMain .katex-display { margin: .5rem 0 .6rem; } .stMain .katex { font-size: 1em; }
.st-key-learn_steps [data-testid="stWidgetLabel"] { min-height: 0; }</style>"""
PLAYING, CLICKED = "playing_since", f"{CONTROLS}matrices"
CODE_PIXELS, CODE_LINES = 340, 12  # height of code with more lines, which scrolls
STEP_SECONDS = 2.0  # time per step after Play is pressed
MAX_LINE_LENGTH = 110  # characters of LaTeX; a longer equation gets two lines
MAX_OFFERED_ITEMS = 3_000
WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)
EXAMPLES: BoundedCache[tuple[str, tuple[int, ...]], Example] = BoundedCache(64)
WALKTHROUGHS: BoundedCache[tuple[str, tuple[int, ...], SMFH], Walkthrough] = BoundedCache(64)


def draw_iteration(state: LearnState, data: MultimodalDataset, is_presented: bool) -> None:
    """Draw the controls, the current step and the settings of the small example.

    Back, Forward, Play, iteration and step are outside the fragment, so that no click is lost.
    """
    st.html(STYLE + (PRESENTATION_STYLE if is_presented else ""))
    if (walkthrough := load_walkthrough(state, data)) is not None:
        playing, now = PLAYING in st.session_state, _current_state(state)

        def move(steps: int = 0, **changes: Any) -> None:
            position = replace(_current_state(state), **changes).position + steps
            st.session_state.pop(PLAYING, None)
            change_state(state.moved_to(min(max(position, 0), POSITIONS - 1)), data)

        def play() -> None:
            start_playing(PLAYING, now.position, POSITIONS - 1)

        with st.container(horizontal=True, vertical_alignment="bottom", key="learn_steps"):
            for label, icon, action in (
                ("Back", ":material/skip_previous:", lambda: move(-1)),
                ("Forward", ":material/skip_next:", lambda: move(1)),
                ("Pause", ":material/pause:", move) if playing else ("Play", ":material/play_arrow:", play),
            ):
                st.button(label, icon=icon, on_click=action, key=f"{CONTROLS}{label.lower()}")
            st.select_slider(
                "Iteration",
                range(1, now.method.iterations + 1),
                key=hold(f"{CONTROLS}iteration", now.iteration),
                on_change=lambda: move(iteration=st.session_state[f"{CONTROLS}iteration"]),
                width=220,
            )
            st.segmented_control(
                "Step",
                STEP_NAMES,
                format_func=lambda name: STEP_INFO[name].symbol,
                required=True,
                key=hold(f"{CONTROLS}step", now.step),
                on_change=lambda: move(step=st.session_state[f"{CONTROLS}step"]),
            )
        st.fragment(_draw_step, run_every=STEP_SECONDS / 2 if playing else None)(walkthrough, data, is_presented)
        if not is_presented:
            draw_files(walkthrough, min(state.asks, len(walkthrough.example.data) - 1))
    with st.expander("Change the example", icon=":material/tune:", key="learn_settings"):
        draw_sliders(state, data)
        draw_item_choice(state, data)
        draw_query_choice(state, data)


def load_walkthrough(state: LearnState, data: MultimodalDataset) -> Walkthrough | None:
    """Return all training steps of the small example; if its items are not suitable, explain and return None."""
    try:
        if data.name not in DATASETS:  # uploads are not cached
            return walk_through(make_example(data, state.rows), state.method)
        items = data.fingerprint, state.rows
        example = EXAMPLES.get(items, lambda: make_example(data, state.rows))
        return WALKTHROUGHS.get((*items, state.method), lambda: walk_through(example, state.method))
    except InputError as error:
        st.warning("The example does not work with these items. Choose different items.")
        st.text("\n".join(error.problems))
        changes = {"rows": default_rows(data)}
        st.button("Use the default items", on_click=change_state, args=(state, data), kwargs=changes)
        return None


def _current_state(state: LearnState) -> LearnState:
    """Return the page state, moved on by the steps that have played since Play was pressed."""
    position = played_to(PLAYING, STEP_SECONDS, POSITIONS - 1)
    return state if position is None else state.moved_to(position)


def _draw_step(walkthrough: Walkthrough, data: MultimodalDataset, is_presented: bool) -> None:
    """Draw the current step: equation, chosen entry, matrices, ranking; called repeatedly during Play."""
    now = _current_state(current(learn_part(data), CONTROLS)[0])
    if PLAYING in st.session_state and now.position == POSITIONS - 1:
        st.session_state.pop(PLAYING)
        change_state(now, data)
        st.rerun()
    step, info = walkthrough.at(now.iteration, now.step), STEP_INFO[now.step]
    key, row, column = components.read_entry(now.entry, step) or step.largest_change
    rows, columns = components.names_of(walkthrough, key)
    matrix = f"{MEANINGS[key[0]][0]} of {key[1]}" if key[1] else MEANINGS[key[0]][0]
    title, formula = f"{matrix}, {rows[row]}, {columns[column]}", explain_entry(step, key, row, column)
    code = step_code(step.name) + (f"\n\n# {title}:\n{formula.code}" if formula.code else "")
    left, right = st.columns(2, gap="medium")
    with left:
        number = STEP_NAMES.index(now.step) + 1
        st.subheader(f"Iteration {now.iteration}, step {number}: {info.title}", anchor=False)
        st.latex(info.equation, help=meanings_in(info.equation))
        st.markdown(info.explanation)
        with st.container(horizontal=True, vertical_alignment="center"):
            _draw_objective(step)
            if is_presented:
                with st.popover("Code", icon=":material/code:", type="tertiary", key="learn_code"):
                    st.code(code, language="python")
            _draw_errata(now.step)
    with right:
        if not is_presented:
            is_long = code.count("\n") >= CODE_LINES
            st.code(code, language="python", height=CODE_PIXELS if is_long else "content", wrap_lines=True)
        before, after = (float(at.matrices[key][row, column]) for at in (step.before, step.after))
        _draw_entry(title, formula, before, after, is_presented)
    groups = components.matrix_groups(walkthrough, step)
    if is_presented:
        groups.pop(components.REST)
    components.show_matrices(
        groups,
        f"{':'.join(key)}:{row}:{column}",
        CLICKED,
        lambda: change_state(now, data, entry=st.session_state[CLICKED].cell),
    )
    st.caption(
        "The objective measures how much codes, features, labels and hash functions disagree; lower is better. "
        "Orange frame: changed by this step. Click an entry to see how it is computed."
    )
    _draw_ranking(walkthrough, step, min(now.asks, len(walkthrough.example.data) - 1))


def _draw_objective(step: Step) -> None:
    """Draw the objective before and after the step; its terms in a popover."""
    before, after = (sum(snapshot.terms.values()) for snapshot in (step.before, step.after))
    st.markdown(f"Objective {before:,.3f} → **{after:,.3f}**", help=OBJECTIVE_HELP, width="content")
    lines = [
        f"{'▼' if change < 0 else '▲'} {term} {'fell' if change < 0 else 'rose'} by {abs(change):.3f} to "
        f"{step.after.terms[term]:.3f}"
        for term, change in step.term_changes.items()
        if abs(change) >= 5e-4
    ]
    if after > before:
        reason = "a new sample was drawn." if step.name == "sample" else "not every step lowers it."
        lines.append(f"The objective rose: {reason}")
    with st.popover("Terms", icon=":material/functions:", type="tertiary", key="learn_terms"):
        st.markdown("  \n".join(lines) or "This step changes no term.")


def _draw_errata(step: str) -> None:
    """Draw a popover with the errata of the paper that concern the equations of a step."""
    equations = set(STEP_INFO[step].paper_equations)
    if errata := [one for one in ERRATA if equations & set(one.where.replace(",", " ").split())]:
        label = f"In the paper: {f'{len(errata)} errata' if len(errata) > 1 else 'an erratum'}"
        with st.popover(label, icon=":material/edit_note:", type="tertiary", key=f"errata_{step}"):
            for erratum in errata:
                st.markdown(f"**{erratum.where}**")
                draw_erratum(erratum)
            st.page_link(PAGES["Paper"].script, label="All errata and results", icon=PAGES["Paper"].icon)


def draw_erratum(erratum: Erratum) -> None:
    """Draw an erratum: the equation as the paper prints it, its correction, and the reason."""
    for caption, latex in (("The paper prints", erratum.printed), ("Corrected", erratum.right)):
        st.caption(caption)
        st.latex(latex)
    st.markdown(erratum.why)


def _draw_entry(title: str, formula: Formula, before: float, after: float, is_presented: bool) -> None:
    """Draw how an entry of a matrix is computed, in symbols and in numbers; narrow columns get the result first."""
    with st.container(border=True, gap="xxsmall", key="learn_entry"):
        change = f", before {before:.5g}" if before != after else ""
        st.text(f"{title}: {after:.5g}{change}. {formula.remark}")
        if formula.symbols:
            numbers = rf"= {formula.numbers} = \mathbf{{{after:.5g}}}"
            equation = formula.symbols + numbers
            if len(equation) > MAX_LINE_LENGTH or r"\\" in numbers:
                result = "" if is_presented else rf" = \mathbf{{{after:.5g}}}"
                equation = rf"\begin{{gathered}} {formula.symbols}{result} \\ {numbers} \end{{gathered}}"
            st.latex(equation, help=meanings_in(equation))


def _draw_ranking(walkthrough: Walkthrough, step: Step, query: int) -> None:
    """Draw all items, ranked for the query, with their codes and distances after the step."""
    data, source = walkthrough.example.data, walkthrough.source
    order, distances = step.after.rank(source, query)
    relevant = (data.labels[order] & data.labels[query]).any(axis=1)
    codes = step.after.matrices["code", ""][order].astype(int)
    notes = [("".join(map(str, code)), in_bits(int(distance))) for code, distance in zip(codes, distances, strict=True)]
    title = f"Ranking for the {source} of “{caption_of(data, query)}”: code and Hamming distance"
    gallery = Gallery(title, tuple(order.tolist()), tuple(relevant.tolist()))
    components.show_galleries(data, [gallery], "learn_ranking", notes)


def draw_files(walkthrough: Walkthrough, query: int) -> None:
    """Draw buttons that save the small example, with its data, as a notebook and as a Python script."""
    with st.container(horizontal=True):
        for label, name, kind, make in (
            ("Open as notebook", "smfh-example.ipynb", "application/x-ipynb+json", make_notebook),
            ("Open as Python script", "smfh-example.py", "text/x-python", make_script),
        ):
            about = "Saves this example with its data and all numbers; needs only NumPy."
            offer_file(label, partial(make, walkthrough, query), name, kind, f"{CONTROLS}{name}", help=about)


def draw_item_choice(state: LearnState, data: MultimodalDataset) -> None:
    """Draw the choice of the items of the example."""
    st.multiselect(
        f"Choose {MIN_ITEMS} to {MAX_ITEMS} items from at least two classes",
        sorted({*range(min(len(data), MAX_OFFERED_ITEMS)), *state.rows}),
        format_func=lambda row: caption_of(data, row),
        max_selections=MAX_ITEMS,
        **control(state, data, "rows", list(state.rows), entry=None, asks=0),
    )
    st.caption(
        "Text features are words, weighted and scaled to length 1. Picture features are shares of "
        "colours. The weights α and μ suit a few items; for thousands of items the paper uses 2 and 25."
    )


def draw_sliders(state: LearnState, data: MultimodalDataset, pixels: int = 200) -> None:
    """Draw sliders for the weights α and μ, the sample size m, and the number of bits."""
    about = parameters(SMFH)
    with st.container(horizontal=True, width="content"):
        for name, label, values, parameter in (
            ("alpha", "Graph weight α", WEIGHTS, "graph_weight"),
            ("mu", "Projection weight μ", WEIGHTS, "projection_weight"),
            ("sample", "Graph sample m", range(2, len(state.rows) + 1), "graph_sample"),
            ("bits", "Bits", range(2, MAX_BITS + 1), "bits"),
        ):
            value: Any = getattr(state, name)
            options, own = sorted({*values, value}), control(state, data, name, value)
            st.select_slider(label, options, help=about[parameter].help, width=pixels, **own)


def draw_query_choice(state: LearnState, data: MultimodalDataset) -> None:
    """Draw a menu to choose the item that is the query."""
    items = len(state.rows)
    asks = control(state, data, "asks", min(state.asks, items - 1))
    names = [caption_of(data, row) for row in state.rows]
    st.selectbox("Query", range(items), format_func=names.__getitem__, width=200, **asks)
