"""Lessons on what is chosen: the weight of the labels, the sample, the length of the codes."""

from functools import partial

from smfh.lessons.evidence import PICTURE, SHOWN, TEXT, Evidence, Seen, Series, Walls, Worked

RADIUS = 2  # of the look-up
MUCH = 100  # items that are looked up at the most


def two_truths(evidence: Evidence) -> Worked:
    """α: the first hundred and the whole ranking disagree about the best one."""
    runs = evidence.runs
    stops = tuple(f"{run.method.get_params()['graph_weight']:g}" for run in runs)
    codes = [run.different_codes for run in runs]
    first = Series("mAP@100", tuple(run.map(PICTURE) for run in runs))
    whole = Series("mAP, whole ranking", tuple(run.map(PICTURE, "full") for run in runs))
    items, classes = len(evidence.split.train), evidence.data.labels.shape[1]
    differ = (
        f"The first hundred are best at α = {stops[first.best]}, the whole ranking at α = "
        f"{stops[whole.best]}."
        if first.best != whole.best
        else f"Here both are best at α = {stops[first.best]}."
    )
    return Worked(
        "α",
        stops,
        (first, whole, Series("different codes", tuple(map(float, codes)), "codes")),
        tuple(
            f"α = {stop}: {run.map(PICTURE):.3f} in the first hundred, {run.map(PICTURE, 'full'):.3f} over "
            f"the whole ranking; {items:,} items have {run.different_codes:,} different codes."
            for stop, run in zip(stops, runs, strict=True)
        ),
        f"{differ} With no pull (α = {stops[0]}) the {items:,} items have {codes[0]:,} different codes, "
        f"which follow what things look like: {first.values[0]:.3f} and {whole.values[0]:.3f}. At α = "
        f"{stops[-1]} {codes[-1]} codes are left for {classes} classes: {first.values[-1]:.3f} and "
        f"{whole.values[-1]:.3f}. With one code a class a query falls into the right class, and all of it "
        "comes first, or into a wrong one, and nothing right does. The whole ranking gains by that: no "
        "straggler of the right class stands far behind. The first hundred lose: what looks alike and "
        "might have saved a doubtful query has no code of its own any more. A score without its depth "
        "says little, so both are told everywhere here. (These are picture queries; words find pictures "
        f"with {runs[0].map(TEXT):.3f} to {runs[-1].map(TEXT):.3f} in the first hundred.)",
        evidence.walls(),
    )


def sample(evidence: Evidence) -> Worked:
    """m: how few items carry the labels well, and what all of them cost."""
    runs, items = evidence.runs, len(evidence.split.train)
    sizes = [run.method.get_params()["graph_sample"] for run in runs]
    stops = tuple("all" if size >= items else f"{size:,}" for size in sizes)
    words, pictures = (tuple(run.map(way) for run in runs) for way in (TEXT, PICTURE))
    means = Series("mean", tuple((a + b) / 2 for a, b in zip(words, pictures, strict=True)))
    seconds = [run.seconds for run in runs]
    slowest = max(range(len(runs) - 1), key=seconds.__getitem__)
    few = (
        f"the best of these is m = {stops[means.best]} of {items:,}"
        if stops[means.best] != "all"
        else f"with {stops[-2]} of {items:,} it is {means.values[-2]:.3f}, with all {means.values[-1]:.3f}"
    )
    return Worked(
        "m",
        stops,
        (
            Series("words find pictures", words),
            Series("pictures find words", pictures),
            Series("training", tuple(seconds), "seconds"),
        ),
        tuple(
            f"m = {stop}: {a:.3f} by words, {b:.3f} by pictures; trained in {run.seconds:.1f} s."
            for stop, a, b, run in zip(stops, words, pictures, runs, strict=True)
        ),
        f"Each of the {runs[0].hasher.trace[-1].iteration} iterations draws others: {few}. A "
        f"small sample is mostly noise (m = {stops[0]}: {means.values[0]:.3f}). The paper samples to save "
        "time, since it counts m² pairs. But the affinity of m items is a product of two small matrices, "
        "Â = L̂ₐL̂ₐᵀ, so ÂŶ is computed as L̂ₐ(L̂ₐᵀŶ): m times classes times bits, and no pair is ever "
        f"looked at. Measured here: {seconds[-1]:.1f} s with all, {seconds[slowest]:.1f} s with m = "
        f"{stops[slowest]}"
        + (
            ", since another sample needs another inverse, and the whole graph only one."
            if seconds[-1] <= seconds[slowest]
            else "."
        ),
        evidence.walls(),
    )


def length(evidence: Evidence) -> Worked:
    """Bits: ranking gains by them, look-up loses."""
    runs = evidence.runs
    stops = tuple(str(run.method.bits) for run in runs)
    ranked = Series("mAP@100", tuple(run.map(PICTURE) for run in runs))
    hits = tuple(float(run.scores[PICTURE].within.hits[RADIUS]) for run in runs)
    walls = evidence.at_every_run(partial(_ranked_and_looked_up, evidence))
    return Worked(
        "bits",
        stops,
        (ranked, Series(f"found within {RADIUS} bits", hits, "share of queries")),
        tuple(
            f"{stop} bits: mAP@100 {run.map(PICTURE):.3f}; {hit:.0%} of the picture queries find something "
            f"right within {RADIUS} bits."
            for stop, run, hit in zip(stops, runs, hits, strict=True)
        ),
        f"From {stops[0]} to {stops[-1]} bits the ranking goes from {ranked.values[0]:.3f} to "
        f"{ranked.values[-1]:.3f}: more bits tell more things apart. But the share of queries that find "
        f"anything right by looking up all codes within {RADIUS} bits goes from {hits[0]:.0%} to "
        f"{hits[-1]:.0%}: there are 2 to the power of {stops[-1]} codes, and the ball of radius {RADIUS} "
        "in them is nearly empty. So one ranks with long codes, and looks up with short ones, or with "
        "several tables of parts of a long code.",
        walls,
    )


def _ranked_and_looked_up(evidence: Evidence, run: Seen, row: int) -> Walls:
    rows, distances = evidence.nearest(run, PICTURE, row, MUCH)
    within = [found for found, distance in zip(rows, distances, strict=True) if distance <= RADIUS]
    many = f"{len(within)}" if len(within) < MUCH else f"{MUCH} or more"
    return (
        evidence.wall("Ranked: its picture finds", rows[:SHOWN], row),
        evidence.wall(f"Looked up within {RADIUS} bits: {many}", within[:SHOWN], row),
    )
