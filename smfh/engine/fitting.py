"""Train a method on shards, search and evaluate over them, and save and read the progress of such fits.

The database codes of the trained hasher stay in files, one for each part of the shards.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from time import time
from typing import Any

import numpy as np

from smfh.engine.engine import Workers
from smfh.engine.sharded import CODES, PASS, SAVED, FitFolders, SavedPasses, ShardedItems, check_part, open_shards
from smfh.engine.shards import Folder, Manifest, foreign_parts, part_problems, read_labels, read_manifest, read_rows
from smfh.engine.worker import program_version
from smfh.hamming import Queries, count_codes, pack, rank
from smfh.hashing import METHODS, FittedHasher, HashMethod
from smfh.hashing.base import BlockMethod, Nearest
from smfh.metrics import RankedQueries, Scores, score
from smfh.retrieval.evaluation import rank_queries, score_codes
from smfh.types import BoolArray, InputError, MultimodalDataset, OnStep, TrainingStep, Words, unknown

FITS, ABOUT, PROGRESS = "fits", "fit.json", "progress.json"
MAX_FITS = 12  # newest fits shown
STALLED_SECONDS = 300.0  # without a new step, after which a fit counts as stopped
STALLED_STEPS = 5  # the same limit as a multiple of the last step's time; the longer one counts
MAX_STEPS = 20_000
MAX_QUERIES = 512  # ranked in one task, so that its result stays small


@dataclass(frozen=True, eq=False)
class ShardedFit:
    """The result of training on shards: the hasher, and the folders of its database codes."""

    hasher: FittedHasher  # its database codes are empty
    manifest: Manifest
    folders: FitFolders
    codes_sha256: str
    passes: int
    resumed: int  # number of passes read from an earlier attempt


def fit_shards(
    method: HashMethod,
    address: str,
    workers: Workers,
    resume: bool = False,
    on_step: OnStep | None = None,
    on_resume: Callable[[int], None] = lambda passes: None,
) -> ShardedFit:
    """Check the shards and train on all their items; return the hasher, with its codes on disk.

    With `resume` an interrupted fit continues; `on_resume` is called first, with the number of its saved passes.
    """
    if not isinstance(method, BlockMethod):
        able = ", ".join(name for name, kind in METHODS.items() if issubclass(kind, BlockMethod))
        raise InputError(f"{method.title} needs all items in memory; methods for shards: {able}.")
    if method.needs_memory:
        raise InputError("Clustering needs all items in memory; to train on shards, set clusters to 0.")
    shards = Folder(address)
    manifest = read_manifest(shards)
    classes = np.flatnonzero(manifest.sizes)
    X = {m.name: np.zeros((len(classes), m.dimensions), m.dtype) for m in manifest.modalities}
    one_per_class = np.eye(len(manifest.sizes), dtype=bool)[classes]
    sketch = MultimodalDataset(manifest.name, X, one_per_class, manifest.class_names)
    problems = method.training_problems(sketch)
    if method.needs_positive and (signed := [m.name for m in manifest.modalities if m.is_signed]):
        problems.append(
            f"{method.title} needs features ≥ 0, but these have negative values: {', '.join(signed)}. They cannot be "
            "split by sign on shards. Choose smfh-plus with anchors, or split the features before writing the shards."
        )
    if problems:
        raise InputError(problems)
    folders = open_folders(method, shards, manifest, resume)
    saved, trace = SavedPasses(folders), list[TrainingStep]()
    if resume:
        on_resume(sum(name.startswith(PASS) and name.endswith(SAVED) for name in folders.work.names()))
    problems = foreign_parts(shards, manifest) + part_problems(shards, manifest.queries)
    checks = [(folders, number) for number in range(len(manifest.parts))]
    problems += [problem for found in workers.map(check_part, checks) for problem in found]
    if problems:
        raise InputError(problems)
    items = ShardedItems(folders, manifest, workers, saved)
    learning = method.learn_from(items, np.random.default_rng(method.seed), trace)

    def report(step: TrainingStep) -> None:
        write_progress(folders.work, trace, method.steps, workers)
        if on_step is not None:
            on_step(step)

    model = method.run_steps(learning, trace, lambda: {t: float(m.max()) for t, m in items.maxima.items()}, report)
    hasher = FittedHasher(method, model.functions, model.codes, trace, manifest.id, model.bases)
    for name in folders.work.names():  # a finished fit needs only the sums of its passes
        if name.startswith(PASS) and not name.endswith(SAVED):
            folders.work.remove(name)
    write_progress(folders.work, trace, method.steps, workers, is_over=True)
    packed = folders.work.folder(CODES)
    codes = (np.asarray(packed.array(f"{part.name}.npy")) for _ in model.codes for part in manifest.parts)
    return ShardedFit(hasher, manifest, folders, hash_codes(codes), saved.passes, saved.found)


def open_folders(method: HashMethod, shards: Folder, manifest: Manifest, resume: bool) -> FitFolders:
    """Return the folders of a fit; keep the files of an interrupted attempt only with `resume`."""
    about = {"method": method.name, "parameters": asdict(method), "shards": manifest.id}
    key = hashlib.sha256(json.dumps([method.name, asdict(method), manifest.id]).encode()).hexdigest()
    fits, name = shards.folder(FITS), f"{method.name}-{key[:16]}"
    work = fits.folder(name)
    if resume and work.exists(ABOUT):
        if (other := work.json(ABOUT)["program"]) != program_version():
            raise InputError(
                f"The fit in {work.address} was started by {other}, but this is {program_version()}. Start it again."
            )
    else:
        fits.remove(name)
        work.make().write_json(ABOUT, about | {"program": program_version()})
    return FitFolders(shards, work, program_version())


def hash_codes(codes: Iterable[Words]) -> str:
    """Return the SHA-256 of all packed codes, concatenated by rows."""
    digest = hashlib.sha256()
    for words in codes:
        digest.update(np.ascontiguousarray(words, dtype="<u8").data)
    return digest.hexdigest()


def query_data(fit: ShardedFit) -> MultimodalDataset:
    """Return the queries of the shards as a data set in memory."""
    manifest = fit.manifest
    X, labels = read_rows(fit.folders.shards, manifest, manifest.queries)
    return MultimodalDataset(manifest.name, X, labels, manifest.class_names)


def search_shards(
    fit: ShardedFit, workers: Workers, source: str, features: Any, k: int = 10, distance: str = "asymmetric"
) -> Nearest:
    """Return rows and distances of the k training items nearest to each query of modality `source`."""
    if source not in fit.hasher.functions:
        raise unknown("modality", source, fit.hasher.functions)
    queries = fit.hasher.functions[source].encode_queries(features, distance)
    parts = range(len(fit.manifest.parts))
    found = workers.map(rank_part, [(fit.folders, number, queries, k) for number in parts])
    rows, distances = (np.concatenate(own, axis=1) for own in zip(*found, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Nearest(*(np.take_along_axis(own, order, axis=1) for own in (rows, distances)))


def rank_part(folders: FitFolders, number: int, queries: Queries, top: int) -> Nearest:
    """Return the nearest items within a part, as row numbers of the whole database."""
    order, distances = rank(queries.codes, _read_codes(folders, number), top, queries.weights)
    return Nearest(order.astype(np.int64) + open_shards(folders).starts[number], distances)


def score_shards(fit: ShardedFit, workers: Workers, distance: str = "hamming") -> dict[tuple[str, str, str], Scores]:
    """Return the scores by (source, target, protocol), the same as for a fit in memory."""
    data, hasher, scores = query_data(fit), fit.hasher, {}
    queries = {t: hasher.functions[t].encode_queries(X, distance) for t, X in data.modalities.items()}
    (number,) = workers.map(count_trained, [(fit.folders,)])
    step = max(1, min(MAX_QUERIES, -(-len(data.labels) // workers.count)))
    blocks = [slice(start, start + step) for start in range(0, len(data.labels), step)]
    for source, own in queries.items():
        given = [(fit.folders, own.take(rows), data.labels[rows], hasher.bits) for rows in blocks]
        ranked = RankedQueries.join(workers.map(rank_block, given))
        trained = score((source, "", "training", distance), ranked, distinct_codes=number)
        for target in (other for other in queries if other != source):
            scores[source, target, "training"] = replace(trained, target=target)
            search, labels = (source, target, "unseen", distance), (data.labels, data.labels)
            codes = queries[target].codes
            scores[source, target, "unseen"] = score_codes(own, codes, *labels, hasher.bits, search)
    return scores


def rank_block(folders: FitFolders, queries: Queries, labels: BoolArray, bits: int) -> RankedQueries:
    """Rank all training items for some queries; packed codes and labels take a few words per item."""
    parts = open_shards(folders).parts
    packed = np.concatenate([pack(np.asarray(read_labels(folders.shards, part))) for part in parts])
    return rank_queries(queries, _all_codes(folders), labels, packed, bits)


def count_trained(folders: FitFolders) -> int:
    """Return the number of distinct codes of all training items."""
    return count_codes(_all_codes(folders))


def _all_codes(folders: FitFolders) -> Words:
    return np.concatenate([_read_codes(folders, number) for number in range(len(open_shards(folders).parts))])


def _read_codes(folders: FitFolders, number: int) -> Words:
    return np.asarray(folders.work.folder(CODES).array(f"{open_shards(folders).parts[number].name}.npy"))


@dataclass(frozen=True)
class FitProgress:
    """The progress of training on shards, running or finished."""

    method: str  # title
    bits: int
    trace: tuple[TrainingStep, ...]
    steps: int  # maximum number of steps
    workers: int
    dashboard: str  # address of Dask's dashboard; may be empty
    when: float  # time of the last step, in seconds since 1970
    is_over: bool  # possibly after fewer steps

    @property
    def is_moving(self) -> bool:
        """Whether the training on shards is still active: not over, with a step recently."""
        return not self.is_over and time() - self.when < max(
            STALLED_SECONDS, STALLED_STEPS * (self.step_seconds or 0.0)
        )

    @property
    def share(self) -> float:
        """Share of the training steps that are done, 0 to 1; 1 when the training is over."""
        return 1.0 if self.is_over else min(len(self.trace) / max(self.steps, 1), 1.0)

    @property
    def step_seconds(self) -> float | None:
        """Seconds that the last step took; None before the second step."""
        return self.trace[-1].seconds - self.trace[-2].seconds if len(self.trace) > 1 else None


def write_progress(
    work: Folder, trace: Sequence[TrainingStep], steps: int, workers: Workers, is_over: bool = False
) -> None:
    """Write the progress of a fit into its folder `work`."""
    steps_done = [[step.iteration, dict(step.terms), step.seconds, step.phase, step.note] for step in trace]
    about = {"workers": workers.count, "dashboard": workers.dashboard, "steps": steps, "when": time()}
    work.write_json(PROGRESS, about | {"over": is_over, "trace": steps_done})


def read_fits(address: str) -> tuple[Manifest, list[FitProgress]]:
    """Read the manifest of the shards at an address, and the progress of their fits, newest first."""
    shards = Folder(address)
    manifest, fits = read_manifest(shards), shards.folder(FITS)
    found = [_read_progress(fits.folder(name)) for name in fits.names()]
    newest = sorted((fit for fit in found if fit is not None), key=lambda fit: -fit.when)
    return manifest, newest[:MAX_FITS]


def _read_progress(work: Folder) -> FitProgress | None:
    """Read and check the progress of a fit; None if it has no step yet or is damaged."""
    try:
        if not work.exists(PROGRESS):
            return None
        about, given = work.json(ABOUT), work.json(PROGRESS)
        trace = tuple(
            TrainingStep(
                int(iteration),
                {str(name): _finite(value) for name, value in terms.items()},
                _finite(seconds),
                str(phase),
                str(note),
            )
            for iteration, terms, seconds, phase, note in given["trace"][:MAX_STEPS]
        )
        return FitProgress(
            method=METHODS[about["method"]].title,
            bits=int(about["parameters"]["bits"]),
            trace=trace,
            steps=int(given["steps"]),
            workers=int(given["workers"]),
            dashboard=str(given["dashboard"]),
            when=_finite(given["when"]),
            is_over=given["over"] is True,
        )
    except (InputError, KeyError, TypeError, ValueError, OverflowError, AttributeError, OSError):
        return None


def _finite(value: Any) -> float:
    if not isfinite(number := float(value)):
        raise ValueError(value)
    return number
