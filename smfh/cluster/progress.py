"""How far the fits on shards are, as they write it down after every step, for whoever looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from time import time
from typing import Any

from smfh.cluster.manifest import Manifest, read_manifest
from smfh.cluster.storage import Folder
from smfh.cluster.workers import Workers
from smfh.hashing import METHODS
from smfh.types import InputError, TrainingStep

FITS, PROGRESS = "fits", "progress.json"
MOST_FITS = 12  # that are shown, the newest
LONG = 300.0  # seconds without a step after which nobody is at work, as far as can be told,
PATIENCE = 5  # or so many times what the last step took, where that is longer
MOST_STEPS = 20_000


@dataclass(frozen=True)
class FitProgress:
    """One fit on shards, under way or over."""

    method: str  # its title
    bits: int
    trace: tuple[TrainingStep, ...]
    steps: int  # at the most
    workers: int
    dashboard: str  # Dask's own, where there is one
    when: float  # the last step, in seconds since 1970
    is_over: bool  # all is learnt, be it in fewer steps

    @property
    def is_moving(self) -> bool:
        """Whether a step may still come."""
        return not self.is_over and time() - self.when < max(LONG, PATIENCE * (self.step_seconds or 0.0))

    @property
    def share(self) -> float:
        """Of the steps that there are at the most; all of it when it is over."""
        return 1.0 if self.is_over else min(len(self.trace) / max(self.steps, 1), 1.0)

    @property
    def step_seconds(self) -> float | None:
        """What the last step took; None before there are two."""
        return self.trace[-1].seconds - self.trace[-2].seconds if len(self.trace) > 1 else None


def write_progress(
    work: Folder, trace: Sequence[TrainingStep], steps: int, workers: Workers, is_over: bool = False
) -> None:
    """Whole or not at all, beside what the fit keeps."""
    told = [[step.iteration, dict(step.terms), step.seconds, step.phase, step.note] for step in trace]
    about = {"workers": workers.count, "dashboard": workers.dashboard, "steps": steps, "when": time()}
    work.write_json(PROGRESS, about | {"over": is_over, "trace": told})


def read_fits(address: str) -> tuple[Manifest, list[FitProgress]]:
    """What the shards hold, and the fits that are kept among them, the newest first."""
    shards = Folder(address)
    manifest, fits = read_manifest(shards), shards.folder(FITS)
    found = [_read(fits.folder(name)) for name in fits.names()]
    newest = sorted((fit for fit in found if fit is not None), key=lambda fit: -fit.when)
    return manifest, newest[:MOST_FITS]


def _read(work: Folder) -> FitProgress | None:
    """What stands there, every value looked at; None where a fit has no step yet or is damaged."""
    try:
        if not work.exists(PROGRESS):
            return None
        about, said = work.json("fit.json"), work.json(PROGRESS)
        kind = METHODS[about["method"]]
        trace = tuple(_step(*one) for one in said["trace"][:MOST_STEPS])
        numbers = int(about["parameters"]["bits"]), int(said["steps"]), int(said["workers"])
        dashboard, when, is_over = str(said["dashboard"]), _finite(said["when"]), said["over"] is True
        return FitProgress(kind.title, numbers[0], trace, *numbers[1:], dashboard, when, is_over)
    except (InputError, KeyError, TypeError, ValueError, OverflowError, AttributeError, OSError):
        return None


def _step(iteration: Any, terms: Any, seconds: Any, phase: Any, note: Any) -> TrainingStep:
    named = {str(name): _finite(value) for name, value in terms.items()}
    return TrainingStep(int(iteration), named, _finite(seconds), str(phase), str(note))


def _finite(value: Any) -> float:
    if not isfinite(number := float(value)):
        raise ValueError(value)
    return number
