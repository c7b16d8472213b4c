"""Train a method on shards: an ordinary hasher, and codes of the database that stay in the shards."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from smfh.cluster import tasks
from smfh.cluster.manifest import Manifest, foreign_parts, part_problems, read_manifest
from smfh.cluster.program import program
from smfh.cluster.progress import FITS, write_progress
from smfh.cluster.sharded import CODES, Journal, ShardedItems
from smfh.cluster.storage import Folder
from smfh.cluster.tasks import Place
from smfh.cluster.workers import Workers
from smfh.hashing import FittedHasher, HashMethod
from smfh.hashing.factorisation import PassMethod
from smfh.hashing.registry import METHODS
from smfh.types import InputError, OnStep, TrainingStep, Words

ABOUT = "fit.json"


@dataclass(frozen=True, eq=False)
class ShardedFit:
    """What training on shards yields."""

    hasher: FittedHasher  # without the codes of its database
    manifest: Manifest
    place: Place
    codes_sha256: str
    passes: int
    resumed: int  # passes that were done before


def fit_shards(
    method: HashMethod,
    address: str,
    workers: Workers,
    resume: bool = False,
    on_step: OnStep | None = None,
    on_resume: Callable[[int], None] = lambda passes: None,
) -> ShardedFit:
    """Train on all items of shards, which are checked first.

    `resume` goes on where the same fit broke off; `on_resume` then hears how many passes it has, before
    anything starts.
    """
    if not isinstance(method, PassMethod):
        able = ", ".join(name for name, kind in METHODS.items() if issubclass(kind, PassMethod))
        raise InputError(f"{method.title} needs all items in memory; on shards there are {able}.")
    shards = Folder(address)
    manifest = read_manifest(shards)
    if problems := method.training_problems(manifest.sketch()):
        raise InputError(problems)
    place = open_place(method, shards, manifest, resume)
    journal, trace = Journal(place), list[TrainingStep]()
    if resume:
        on_resume(journal.kept)
    check_shards(place, manifest, workers)
    items = ShardedItems(place, manifest, workers, journal)
    learning = method.learn_from(items, np.random.default_rng(method.seed), trace)

    def tell(step: TrainingStep) -> None:
        write_progress(place.work, trace, method.steps, workers)
        if on_step is not None:
            on_step(step)

    learnt = method.follow(
        learning, trace, lambda: {t: float(m.max()) for t, m in items.maxima.items()}, tell
    )
    hasher = FittedHasher(method, learnt.functions, learnt.codes, trace, manifest.id, learnt.bases)
    journal.forget_codes()
    write_progress(place.work, trace, method.steps, workers, is_over=True)
    codes = (part_codes(place, part.name) for _ in learnt.codes for part in manifest.parts)
    return ShardedFit(hasher, manifest, place, hash_codes(codes), journal.passes, journal.found)


def open_place(method: HashMethod, shards: Folder, manifest: Manifest, resume: bool) -> Place:
    """The folder of this fit among the shards, new or as it was left."""
    about = {
        "method": method.name,
        "parameters": json.loads(json.dumps(asdict(method))),
        "shards": manifest.id,
        "program": program(),
    }
    key = hashlib.sha256(json.dumps([about["method"], about["parameters"], manifest.id]).encode()).hexdigest()
    fits, name = shards.folder(FITS), f"{method.name}-{key[:16]}"
    work = fits.folder(name)
    if resume and work.exists(ABOUT):
        if (said := work.json(ABOUT)["program"]) != program():
            raise InputError(
                f"The fit in {work.address} was begun by {said}; this is {program()}. Begin anew."
            )
    else:
        fits.remove(name)
        work.make().write_json(ABOUT, about)
    return Place(shards, work, program())


def check_shards(place: Place, manifest: Manifest, workers: Workers) -> None:
    """Refuse shards of which anything is missing, torn, foreign or changed; and workers of other versions."""
    problems = foreign_parts(place.shards, manifest) + part_problems(place.shards, manifest.queries)
    parts = [(place, number) for number in range(len(manifest.parts))]
    problems += [problem for found in workers.map(tasks.check_part, parts) for problem in found]
    if problems:
        raise InputError(problems)


def part_codes(place: Place, part: str) -> Words:
    return np.asarray(place.work.folder(CODES).array(f"{part}.npy"))


def hash_codes(codes: Iterable[Words]) -> str:
    """SHA-256 of packed codes, row after row."""
    digest = hashlib.sha256()
    for words in codes:
        digest.update(np.ascontiguousarray(words, dtype="<u8").data)
    return digest.hexdigest()


def database_sha256(codes: Mapping[str, Words]) -> str:
    """The same of a hasher in memory: the codes of every modality in turn."""
    return hash_codes(codes.values())
