"""How a study is printed: for a person, and for a program."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from smfh.tuning import FIGURES, Study, StudyRecord, Trial, confirmations, summarise
from smfh.types import parameters

SHOWN, WIDTH = 10, 11


def listed(records: Sequence[StudyRecord]) -> Iterator[str]:
    """A line for each study."""
    for record in records:
        plan, best = record.plan, record.best
        if plan is None:
            yield f"{record.name}: {record.problem}"
            continue
        sets = ", ".join(source.name for source in plan.sources)
        score = f"best {plan.goal.titles[0]} {best.values[0]:.3f}" if best else "no trial yet"
        done = f"{record.done} of {record.total} trials"
        yield f"{record.name}: {plan.way} of {plan.method.title} on {sets}, {done}, {score}"


def as_text(study: Study) -> str:
    """The start and the best trials as a table, and what they say."""
    about, goal = parameters(study.plan.method), study.plan.goal
    names = [one.name for one in study.plan.ranges]
    complete = [trial for trial in study.trials if trial.state == "complete"]
    ranked = sorted(complete, key=lambda trial: (not trial.is_start, -goal.worth(trial.values)))
    symbols = [about[name].symbol for name in names]
    rows = [["trial", "score", *symbols, "mAP@100", "whole mAP", "P@100", "seconds"]]
    for trial in ranked[: SHOWN + 1]:
        label, score = "start" if trial.is_start else str(trial.number), f"{goal.worth(trial.values):.4f}"
        values = [f"{trial.parameters[name]:.4g}" for name in names]
        figures = [f"{trial.measure(figure):.3f}" for figure in FIGURES]
        rows.append([label, score, *values, *figures, f"{trial.seconds:.2f}"])
    table = ["".join(f"{cell:>{WIDTH}}" for cell in row) for row in rows]
    title = f"{study.name}: {study.plan.way} of {study.plan.method.title}; {goal.words}"
    return "\n".join([title, "", *table, "", *summarise(study).lines])


def as_json(study: Study) -> str:
    """All that is known of the study."""
    said = summarise(study)
    about = {
        "study": study.name,
        "plan": json.loads(study.plan.to_json()),
        "best": None if said.best is None else _trial(said.best),
        "gain": said.gain,
        "gain_error": said.gain_error,
        "importance": dict(said.importance),
        "words": said.lines,
        "trials": [_trial(trial) for trial in study.trials],
        "confirmed": [asdict(one) for one in confirmations(study).values()],
    }
    return json.dumps(about, indent=2)


def _trial(trial: Trial) -> dict[str, Any]:
    times = {name: at and at.isoformat() for name, at in (("started", trial.started), ("ended", trial.ended))}
    return asdict(trial) | times
