"""Tuning by eye: compare the results of two trials for the same query, without seeing their settings."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st

from smfh.experiments import tuning
from smfh.experiments.tuning import Comparison, EyeChoice, Study, Trial
from smfh.experiments.tuning.preferences import MIN_CHOICES, examples_of
from smfh.types import InputError
from smfh.ui.items import caption_of, cut
from smfh.ui.session import load
from smfh.ui.settings import Settings
from smfh.ui.tune.charts import remembered
from smfh.ui.tune.state import REFUSED, study_job
from smfh.ui.tune.trial import MAX_CAPTION, draw_wall, may_edit_study
from smfh.ui.visitor import owner_id, visitor

NOT_EDITOR = "Only the owner of this study can store choices, in the browser that created it."
HELP = "Adds one trial whose parameters come from a Bradley–Terry model of the choices, and runs it."
ALL_COMPARED = "All trials whose results differ have been compared."


def draw_by_eye(study: Study, trials: Sequence[Trial], suggest: Callable[[], None]) -> None:
    """Draw the next two trials to compare, the buttons to choose, and one that calls `suggest`."""
    if not may_edit_study(study) or sum(bool(examples_of(trial)) for trial in trials) < 2:
        return
    choices, me = tuning.read_choices(study), owner_id(visitor())
    with st.expander("Tuning by eye", icon=":material/visibility:", key="tune_by_eye"):
        own = (choices, me)
        make_pair = partial(tuning.next_comparison, study.plan, trials, choices, me)
        pair = remembered(study, trials, ("pair", own), make_pair)
        if pair is None:
            st.caption(ALL_COMPARED)
        else:
            _draw_pair(study, trials, pair)
        decided = sum(one.winner is not None for one in choices)
        st.caption(_describe_choices(study, choices, decided))
        job = study_job(study)
        is_busy = (job is not None and not job.over) or not study.is_current
        label, is_off = "Suggest a trial from my choices", decided < MIN_CHOICES or is_busy
        if st.button(label, "tune_suggest", HELP, icon=":material/auto_awesome:", disabled=is_off):
            suggest()


def _draw_pair(study: Study, trials: Sequence[Trial], pair: Comparison) -> None:
    """Draw the results of two trials for one query, and the buttons; sides vary from pair to pair."""
    data, split = load(Settings(study.plan.sources[0], study.plan.method))
    rows, by_number = np.sort(split.train), {trial.number: trial for trial in trials}
    sides = [by_number[pair.first], by_number[pair.second]]
    named = [row for trial in sides for row in (pair.query, *examples_of(trial)[pair.query])]
    if min(named) < 0 or max(named) >= len(rows):
        return
    if (pair.first + pair.second + pair.query) % 2:
        sides.reverse()
    direction = next(iter(sides[0].folds[0].directions))
    caption = cut(caption_of(data, int(rows[pair.query])), MAX_CAPTION)
    st.text(f"Which results suit this query better? {caption}")
    key = f"{pair.first}_{pair.second}_{pair.query}"
    for column, name, trial in zip(st.columns(2, gap="large"), ("Left", "Right"), sides, strict=True):
        with column:
            draw_wall(data, rows[list(examples_of(trial)[pair.query])].tolist(), direction)
            args = (study, pair, trial.number)
            st.button(f"{name} is better", f"tune_{name.lower()}_{key}", None, _choose, args)
    st.button("Skip", f"tune_skip_{key}", None, _choose, (study, pair, None), type="tertiary")


def _choose(study: Study, pair: Comparison, winner: int | None) -> None:
    """Store a choice (callback), after checking again that this visitor may."""
    try:
        if not may_edit_study(study):
            raise InputError(NOT_EDITOR)
        tuning.save_choice(study, pair, winner, owner_id(visitor()))
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _describe_choices(study: Study, choices: Sequence[EyeChoice], decided: int) -> str:
    """Return the number of choices, and which trials are first by eye and by the measured score."""
    text = f"{decided} choice{'s' * (decided != 1)} stored with this study. "
    ranks, best = tuning.ranks_by_eye(choices), study.best
    if ranks and best is not None:
        first = min(ranks, key=ranks.__getitem__)
        text += f"First by eye: trial {first}; first by measured score: trial {best.number}. "
    return text + "The two may disagree: the score counts shared labels, you judge what you see."
