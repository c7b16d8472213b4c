"""The selected trial with its scores and its test on held-out queries, and the comparison by eye."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import streamlit as st

from smfh.experiments import tuning
from smfh.experiments.tuning import Comparison, Confirmation, Study, Trial
from smfh.experiments.tuning.held_out import ALL, CORRECTION, SEEDS, THE_START
from smfh.experiments.tuning.preferences import MIN_CHOICES, examples_of
from smfh.experiments.tuning.study import MAX_NOTE_LENGTH
from smfh.features.pictures import thumbnail
from smfh.jobs import Job, JobContext
from smfh.metrics.significance import signed
from smfh.runs import check_costs, current_limits
from smfh.types import InputError, MultimodalDataset
from smfh.ui.address import bound_control, forget, hold, keep
from smfh.ui.grids import draw_task
from smfh.ui.items import caption_of, cut, looks_of
from smfh.ui.page import open_run, queue_position
from smfh.ui.plain import draw_problems
from smfh.ui.server import private_key, saved_runs
from smfh.ui.session import UPLOAD, load
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.sidebar import CONTROL
from smfh.ui.tune.charts import remembered
from smfh.ui.tune.state import REFUSED, change, current_request, study_job
from smfh.ui.visitor import may_edit, owner_id, visitor

TRIAL = "tune_trial"
BEST = -1  # stands for the best trial in the list of trial numbers
PICTURE_PIXELS, QUERY_PIXELS = 38, 280  # four pictures in a row at a width of 1280
MAX_CAPTION = 60
NOT_EDITOR = "Only the owner of this study can store choices, in the browser that created it."
SUGGEST_HELP = "Adds one trial whose parameters come from a Bradley–Terry model of the choices, and runs it."
EXPORTS = {"Export as command": tuning.fit_command, "Export as Python": tuning.fit_code}
TEST_HELP = (
    f"Trains the starting point (trial 0) and this trial with {SEEDS} seeds each on all training items, and "
    "searches with the held-out queries. Use this test only for the setting you have decided on: choosing "
    "among several settings by these scores would be tuning on the queries."
)


def may_edit_study(study: Study) -> bool:
    """Whether this visitor may rename, delete and annotate a study; owners of uploads always may."""
    return study.plan.sources[0].name == UPLOAD or may_edit(study.creator, visitor())


def draw_selected(study: Study, trials: Sequence[Trial], selected: Trial, settings: Settings) -> None:
    """Draw a menu of trials, and the scores and buttons of the selected trial."""

    def describe(trial: Trial) -> str:
        score, start = study.plan.goal.worth(trial.values), ", start" if trial.is_start else ""
        return f"{score:.3f} · {tuning.setting_in_words(study, trial)} (trial {trial.number}{start})"

    complete = [trial for trial in trials if trial.state == "complete"]
    ranked = sorted(complete, key=lambda trial: -study.plan.goal.worth(trial.values))
    by_number = {trial.number: trial for trial in ranked}
    if selected.number not in by_number:
        by_number = {selected.number: selected, **by_number}
    requested = current_request().trial
    # "Best trial" is a separate option: a number set here during a refresh would look like a choice
    st.selectbox(
        "Selected trial",
        [BEST, *by_number],
        key=hold(TRIAL, requested if requested in by_number else BEST),
        format_func=lambda number: "Best trial" if number == BEST else describe(by_number[number]),
        on_change=lambda: change(trial=None if (own := st.session_state[TRIAL]) == BEST else own),
        help="You can also click a point in any chart.",
    )
    if requested not in by_number:
        st.text(describe(selected))
    start = next((trial for trial in trials if trial.is_start and trial.folds), None)
    with st.container(horizontal=True, gap="small"):
        for name, label in tuning.BASE_MEASURES.items():
            value = selected.measure(name)
            gain, look = None, dict[str, Any]()
            if start is not None and not selected.is_start:
                gain = f"{value - start.measure(name):+.3f}"
                if float(gain) == 0:  # without an arrow
                    gain, look = "0.000", {"delta_color": "off", "delta_arrow": "off"}
            st.metric(label, f"{value:.3f}", gain, width="content", **look)
    st.caption("Means over the validation folds; below each, the difference from the starting point (trial 0).")
    draw_note(study, selected)
    source, method = study.plan.sources[0], study.method_of(selected)
    with st.container(horizontal=True, key="tune_chosen_orders", gap="small"):
        is_applied = (settings.source, settings.method) == (source, method)
        wants_apply = st.button("Apply to sidebar", "tune_use", icon=":material/check:", disabled=is_applied)
        wants_open = st.button("Open in Explore", icon=":material/open_in_new:", key="tune_open")
        for title, write in EXPORTS.items() if source.name != UPLOAD else ():
            with st.popover(title, icon=":material/content_copy:"):
                st.code(write(source, method), language=None, wrap_lines=True)
    if wants_apply:
        keep(SETTINGS, replace(settings, source=source, method=method))
        forget(CONTROL)
        st.toast("These parameters are now set in the sidebar.", icon=":material/check:")
        st.rerun()
    if wants_open:
        try:
            open_run(source, method, load(Settings(source, method)))
        except InputError as error:
            draw_problems("The run could not be opened:", error.problems, st.warning)


def draw_note(study: Study, trial: Trial | None = None) -> None:
    """Draw the note on a study or a trial: a field for those who may edit the study, else the text."""
    number, text = (None, study.note) if trial is None else (trial.number, trial.note)
    label = "Note on this study" if trial is None else f"Note on trial {number}"
    if not may_edit_study(study):
        st.text(f"{label}: {text}" if text else "")
        return

    def save(new: str) -> None:
        try:
            study.set_note(new.strip(), number)
        except InputError as error:
            st.session_state[REFUSED] = error.problems

    field = bound_control(f"tune_note_{study.name}_{number}", text, save)
    look: dict[str, Any] = {"placeholder": label, "label_visibility": "collapsed"}
    st.text_input(label, max_chars=MAX_NOTE_LENGTH, **look, **field)


def draw_held_out(study: Study, trial: Trial) -> None:
    """Draw the test of a trial on held-out queries: the button to start it, its progress, or its result."""
    st.markdown("#### Held-out queries")
    if study.method_of(trial) == study.plan.method:
        st.caption("This is the starting point (trial 0). Select another trial to compare with it.")
        return
    tests = tuning.confirmations(study)
    if tests:  # a log: differences from the starting point in all directions
        settings, rows = {one.number: tuning.setting_in_words(study, one) for one in study.trials}, []
        for test, pair in [(one, pair) for one in tests.values() for pair in one.figures]:
            if pair.direction != ALL or (difference := pair.difference) is None:
                continue
            low, high = difference.low, difference.high  # of the better setting, which is named first
            ends = (-high, -low) if difference.first == THE_START else (low, high)
            rows.append(
                {
                    "test": ordinal(test.place),
                    "at (UTC)": test.at[:16],
                    "trial": f"{test.number}: {settings.get(test.number, '')}",
                    "data": pair.dataset,
                    "measure": tuning.BASE_MEASURES[pair.measure],
                    "start → trial": f"{np.mean(pair.start):.3f} → {np.mean(pair.chosen):.3f}",
                    "difference": signed(pair.gain),
                    "interval": " to ".join(map(signed, ends)),
                    "clear": "yes" if difference.is_clear else "no",
                }
            )
        st.dataframe(rows, hide_index=True, alt="All tests of this study on held-out queries")
        st.caption(CORRECTION)
    if (found := tests.get(trial.number)) is not None:
        for line in (line for line in found.lines if ALL in line):
            st.text(line)
        with st.expander("Each direction"):
            st.text("\n".join(line for line in found.lines if ALL not in line))
        return

    def prepare() -> Callable[[JobContext], Confirmation]:
        for source in study.plan.sources:
            loaded = load(Settings(source, study.plan.method))
            check_costs([study.plan.method, study.method_of(trial)], *loaded, current_limits())
        return tuning.confirm_work(study, trial.number, saved_runs(study.plan.sources[0]))

    def draw_progress(job: Job[Confirmation]) -> None:
        done, total = job.reports[-1] if job.reports else (0, 1)
        text = f"{done} of {total} runs" if job.reports else "Starting"
        st.progress(done / total, " · ".join(filter(None, [text, queue_position(job)])))

    key = private_key(study.plan.sources[0], ("confirmation", study.key, trial.number))
    label = f"Test on held-out queries ({ordinal(len(tests) + 1)} test of this study)"
    draw_task("confirmation", key, label, prepare, draw_progress, ":material/verified:", TEST_HELP)
    st.caption(f"Compares trial {trial.number} with the starting settings, using {SEEDS} seeds and a paired test.")


def ordinal(number: int) -> str:
    """Return a number as text: 1st, 2nd, 3rd, 4th, …"""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def draw_walls(study: Study, trials: Sequence[Trial]) -> None:
    """Draw the first results of one validation query with each of these trials, side by side."""
    data, split = load(Settings(study.plan.sources[0], study.plan.method))
    rows = np.sort(split.train)
    shown = [(trial, trial.folds[0].examples) for trial in trials if trial.folds and trial.folds[0].examples]
    known = set.intersection(*(set(found) for _, found in shown)) if shown else set()
    if not known or not all(fits(found, len(rows)) for _, found in shown):
        return
    direction = next(iter(shown[0][0].folds[0].directions))

    def difference(row: int) -> int:
        """Return the number of items that only one of two trials found, over all pairs."""
        return sum(len({*one[row]} ^ {*other[row]}) for (_, one), (_, other) in combinations(shown, 2))

    with st.container(horizontal=True, vertical_alignment="center", key="tune_walls"):
        st.text("The same query with", width="content")
        row = st.selectbox(
            "Validation query",
            sorted(known, key=lambda row: (-difference(row), row)),  # by default, the one that changes most
            key=f"tune_wall_query_{study.name}_{len(shown)}",
            format_func=lambda row: cut(caption_of(data, int(rows[row])), MAX_CAPTION),
            label_visibility="collapsed",
            width=QUERY_PIXELS,
        )
        st.caption(f"{direction}, first validation fold; crossed out: not relevant")
    for column, (trial, found) in zip(st.columns(len(shown), gap="small"), shown, strict=True):
        items = rows[list(found[row])].tolist()
        relevant = (data.labels[items] & data.labels[rows[row]]).any(axis=1).tolist()
        with column:
            setting = "start: " * trial.is_start + tuning.setting_in_words(study, trial)
            st.text(f"{setting} · {sum(relevant)} of {len(items)} relevant")
            draw_wall(data, items, direction, relevant)


def fits(examples: Mapping[int, Sequence[int]], items: int) -> bool:
    """Whether the rows that are stored with a trial exist in this data, which may have changed since."""
    return all(0 <= row < items for query, results in examples.items() for row in (query, *results))


def draw_wall(data: MultimodalDataset, items: Sequence[int], direction: str, relevant: Sequence[bool]) -> None:
    """Draw results as small pictures; those that are not relevant are pale and crossed out."""
    from PIL import Image, ImageDraw

    drawn = []
    for picture, is_kept in zip(looks_of(data, items, direction.rpartition(" → ")[2]), relevant, strict=True):
        if not is_kept:
            with Image.open(io.BytesIO(thumbnail(picture, 2 * PICTURE_PIXELS))) as image:
                pale = Image.blend(image, Image.new("RGB", image.size, "white"), 0.6)
            for ends in ((0, 0, *pale.size), (0, pale.height, pale.width, 0)):
                ImageDraw.Draw(pale).line(ends, fill="#8A1C1C", width=3)
            file = io.BytesIO()
            pale.save(file, "PNG")
            picture = file.getvalue()
        drawn.append(picture)
    st.image(drawn, width=PICTURE_PIXELS, alt=[caption_of(data, row) for row in items])


def draw_by_eye(study: Study, trials: Sequence[Trial]) -> bool:
    """Draw two trials to compare and the buttons; return whether a suggested trial was requested."""
    if not may_edit_study(study) or sum(bool(examples_of(trial)) for trial in trials) < 2:
        return False
    choices, me = tuning.read_choices(study), owner_id(visitor())
    with st.expander("Tuning by eye", icon=":material/visibility:", key="tune_by_eye"):
        make_pair = partial(tuning.next_comparison, study.plan, trials, choices, me)
        pair = remembered(study, trials, ("pair", choices, me), make_pair)
        if pair is None:
            st.caption("No comparisons left: every pair of trials with different results has been compared.")
        else:
            _draw_pair(study, trials, pair)
        decided = sum(one.winner is not None for one in choices)
        text = f"{decided} choice{'s' * (decided != 1)} stored with this study. "
        ranks, best = tuning.ranks_by_eye(choices), study.best
        if ranks and best is not None:
            first = min(ranks, key=ranks.__getitem__)
            text += f"First by eye: trial {first}; first by measured score: trial {best.number}. "
        st.caption(text + "The two may disagree: the score counts shared labels, you judge what you see.")
        job = study_job(study)
        is_busy = (job is not None and not job.over) or not study.is_current
        label, is_off = "Suggest a trial based on the choices", decided < MIN_CHOICES or is_busy
        return st.button(label, "tune_suggest", SUGGEST_HELP, icon=":material/auto_awesome:", disabled=is_off)


def _draw_pair(study: Study, trials: Sequence[Trial], pair: Comparison) -> None:
    """Draw the results of two trials for one query, with buttons to choose; which is left varies."""
    data, split = load(Settings(study.plan.sources[0], study.plan.method))
    rows, by_number = np.sort(split.train), {trial.number: trial for trial in trials}
    sides = [by_number[pair.first], by_number[pair.second]]
    if not all(fits(examples_of(trial), len(rows)) for trial in sides):
        return
    if (pair.first + pair.second + pair.query) % 2:
        sides.reverse()
    direction = next(iter(sides[0].folds[0].directions))
    caption = cut(caption_of(data, int(rows[pair.query])), MAX_CAPTION)
    st.text(f"Which results suit this query better? {caption}")
    key = f"{pair.first}_{pair.second}_{pair.query}"
    for column, name, trial in zip(st.columns(2, gap="large"), ("Left", "Right"), sides, strict=True):
        with column:
            items = rows[list(examples_of(trial)[pair.query])].tolist()
            draw_wall(data, items, direction, [True] * len(items))
            args = (study, pair, trial.number)
            st.button(f"{name} is better", f"tune_{name.lower()}_{key}", None, _choose, args)
    st.button("Skip", f"tune_skip_{key}", None, _choose, (study, pair, None), type="tertiary")


def _choose(study: Study, pair: Comparison, winner: int | None) -> None:
    """Store which trial the visitor prefers (callback), after checking again that this is allowed."""
    try:
        if not may_edit_study(study):
            raise InputError(NOT_EDITOR)
        tuning.save_choice(study, pair, winner, owner_id(visitor()))
    except InputError as error:
        st.session_state[REFUSED] = error.problems
