"""Lessons on what is learnt: which modality knows more, and what a bit says."""

from dataclasses import replace

import numpy as np

from smfh.bits import class_contrast, describe_bits
from smfh.hamming import unpack
from smfh.lessons.evidence import PICTURE, SHOWN, TEXT, Evidence, Seen, Series, Wall, Worked
from smfh.types import FloatArray


def directions(evidence: Evidence) -> Worked:
    """Class by class: what words find and what pictures find, in one and the same database."""
    run, data, queries = evidence.runs[0], evidence.data, evidence.split.queries
    asked = list(evidence.queries.values())
    classes = [int(data.labels[row].argmax()) for row in asked]
    of_class = [data.labels[queries, k] for k in classes]
    series = [
        Series(name, tuple(float(_by_query(run, way)[members].mean()) for members in of_class))
        for way, name in ((TEXT, "words find pictures"), (PICTURE, "pictures find words"))
    ]
    stops = tuple(data.class_names[k] for k in classes)
    first = {way: float(run.scores[way].precision[0]) for way in (TEXT, PICTURE)}
    agree = {way: agreement_with_class(evidence, run, way[0]) for way in (TEXT, PICTURE)}
    gaps = np.array(series[0].values) - np.array(series[1].values)
    wide, narrow = stops[int(gaps.argmax())], stops[int(gaps.argmin())]
    same = all(
        np.array_equal(run.hasher.database_codes[TEXT[0]], codes)
        for codes in run.hasher.database_codes.values()
    )
    return Worked(
        "class of the query",
        stops,
        tuple(series),
        tuple(
            f"{stop}: {a:.3f} by words, {b:.3f} by pictures."
            for stop, a, b in zip(stops, series[0].values, series[1].values, strict=True)
        ),
        ("Both search one and the same list of codes, so what is found cannot explain it. " if same else "")
        + "What differs is who asks. Words are more often right about the class: the very first answer is "
        f"of the right class for {first[TEXT]:.0%} of the texts and {first[PICTURE]:.0%} of the pictures, "
        "and of the bits that most of a class have, the hash function of the texts hits "
        f"{agree[TEXT]:.0%}, that of the pictures {agree[PICTURE]:.0%}. “Animal” says what it is; an "
        f"orange disc may be a fruit, a face or a sunset. The gap is widest for {wide} ({gaps.max():+.3f}) "
        f"and narrowest for {narrow} ({gaps.min():+.3f}).",
        {"": tuple(evidence.both_ways(run, row) for row in asked)},
    )


def agreement_with_class(evidence: Evidence, run: Seen, modality: str) -> float:
    """The share of the bits of the queries' codes that are those of most items of their (first) class."""
    data, split, bits = evidence.data, evidence.split, run.hasher.bits
    database = unpack(next(iter(run.hasher.database_codes.values())), bits)
    labels = data.labels[split.train].astype(np.float64)
    usual = labels.T @ database > labels.sum(axis=0)[:, None] / 2
    codes = unpack(run.hasher.encode(modality, data.modalities[modality][split.queries]), bits)
    return float(np.mean(codes == usual[data.labels[split.queries].argmax(axis=1)]))


def _by_query(run: Seen, way: tuple[str, str]) -> FloatArray:
    return run.scores[way].average_precision["found"].by_query


def one_bit(evidence: Evidence) -> Worked:
    """The bits of two seeds side by side: what each is on for, and that its number means nothing."""
    first = evidence.runs[0]
    second = next(
        run for run in evidence.runs if run.method == replace(first.method, seed=first.method.seed + 1)
    )
    data, split, bits = evidence.data, evidence.split, first.hasher.bits
    topics = [describe_bits(run.hasher, data, split) for run in (first, second)]
    shares = [
        class_contrast(unpack(next(iter(run.hasher.database_codes.values())), bits), data.labels[split.train])
        for run in (first, second)
    ]
    same = _correlation(shares[0], shares[1])
    alike, likest = float(np.abs(np.diag(same)).mean()), float(np.abs(same).max(axis=1).mean())
    follows = [len(topic.follows) for topic in topics[0]]
    stops = tuple(map(str, range(bits)))
    rows = [[topic.rows[:SHOWN] for topic in of_run] for of_run in topics]
    return Worked(
        "bit",
        stops,
        tuple(
            Series(f"seed {run.method.seed}", tuple(float(len(topic.follows)) for topic in of_run), "classes")
            for run, of_run in zip((first, second), topics, strict=True)
        ),
        tuple(
            f"Bit {k}: with seed {first.method.seed} it is on for {a.summary}; with seed "
            f"{second.method.seed} for {b.summary}."
            for k, (a, b) in enumerate(zip(*topics, strict=True))
        ),
        "A bit is a question that the training found useful, and rarely one thing: with seed "
        f"{first.method.seed} the {bits} bits follow {min(follows)} to {max(follows)} classes each, "
        f"{np.mean(follows):.1f} on average. Its number means nothing: over the classes, bits of the same "
        f"number in the two trainings correlate by {alike:.2f} on average, while each has a nearest "
        f"relative elsewhere at {likest:.2f}. And yet the two find equally well, {first.map(PICTURE):.3f} "
        f"and {second.map(PICTURE):.3f}: only whole codes, and only distances between them, mean "
        "something. So a word beside a bit is what it happens to be on for, no definition.",
        {
            "": tuple(
                tuple(
                    Wall(f"Bit {k} is on, seed {run.method.seed}", of_run[k], (True,) * len(of_run[k]))
                    for run, of_run in zip((first, second), rows, strict=True)
                    if of_run[k]
                )
                for k in range(bits)
            )
        },
    )


def _correlation(A: FloatArray, B: FloatArray) -> FloatArray:
    """Between the columns of A and those of B; 0 where one does not vary."""
    a, b = (M - M.mean(axis=0) for M in (A, B))
    lengths = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    correlation: FloatArray = np.divide(a.T @ b, lengths, out=np.zeros(lengths.shape), where=lengths > 0)
    return correlation
