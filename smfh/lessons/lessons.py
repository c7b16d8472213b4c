"""The lessons: their questions and tasks, and one function per lesson that computes its answer from runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from smfh.datasets import make_source
from smfh.experiments.comparison import Comparison
from smfh.hamming import unpack
from smfh.hashing import SMFH, SMFHPlus
from smfh.lessons.lesson_runs import (
    GALLERY_ITEMS,
    IMAGE_QUERIES,
    TEXT_QUERIES,
    EvaluatedRun,
    Galleries,
    Gallery,
    LessonRuns,
    Prediction,
    Series,
    WorkedLesson,
)
from smfh.metrics import AP_DEFINITIONS
from smfh.metrics.precision import average_precision
from smfh.retrieval.bits import class_contrast, describe_bits
from smfh.retrieval.evaluation import find_results
from smfh.types import FloatArray

EMOJI = make_source("emoji", labels="group")  # included in the package; nine classes are easy to follow
ALL_ITEMS = 1_000_000  # more than the data set has: use all items
QUICK = SMFHPlus(anchors=500, width=1.0, ridge=0.02)  # trains in a second; independent of the defaults
WEIGHTS = (0.0, 1.0, 5.0, 10.0, 20.0, 35.0, 75.0, 150.0, 400.0)
LABEL_WEIGHTS = Comparison(EMOJI, tuple(replace(QUICK, graph_weight=a) for a in WEIGHTS), (64,), 1)
SAMPLES = Comparison(EMOJI, tuple(SMFH(graph_sample=m) for m in (20, 100, 300, 700, ALL_ITEMS)), (32,), 1)
LENGTHS = Comparison(EMOJI, (QUICK,), (8, 16, 32, 64, 128), 1)
SEEDS = Comparison(EMOJI, (QUICK, replace(QUICK, graph_weight=20.0)), (16,), 8)
RADIUS_BITS = 2  # Hamming radius of a look-up
MAX_LOOKED_UP = 100  # items that a look-up returns at most
TIED_DEPTH = 2_000  # number of results among which ties are reversed
CLASS_ORDERS = 20  # number of random orders of the classes in which the database is sorted
RANDOM_HALVES = 400  # number of random draws, each of some runs and half of the queries
DIFFERENCES = (0.01, 0.05, 0.1)  # limits between the offered sizes of a difference
SIZES = ("less than 0.01", "0.01 to 0.05", "0.05 to 0.1", "more than 0.1")


def compare_label_weights(measured: LessonRuns) -> WorkedLesson:
    """Compare label weights α: is mAP@100 highest at the same α as the mAP of the whole ranking?"""
    runs, items = measured.runs, len(measured.split.train)
    stops = tuple(f"{run.method.get_params()['graph_weight']:g}" for run in runs)
    first = Series("mAP@100", measured.maps(IMAGE_QUERIES))
    whole = Series("mAP, whole ranking", measured.maps(IMAGE_QUERIES, "full"))
    databases = [next(iter(run.hasher.database_codes.values())) for run in runs]
    codes = Series("different codes", tuple(float(len(np.unique(own, axis=0))) for own in databases), "codes")
    highest = f"mAP@100 is highest at α = {stops[first.best]}, the whole ranking at α = {stops[whole.best]}."
    if first.best == whole.best:
        highest = f"Both scores are highest at α = {stops[first.best]}."
    by_text = measured.maps(TEXT_QUERIES)
    return WorkedLesson(
        "α",
        stops,
        (first, whole, codes),
        tuple(
            f"α = {stop}: mAP@100 is {a:.3f}; mAP of the whole ranking is {b:.3f}. The {items:,} items have "
            f"{c:,.0f} different codes."
            for stop, a, b, c in zip(stops, first.values, whole.values, codes.values, strict=True)
        ),
        f"{highest} At α = {stops[0]} labels do not pull items together: the {items:,} items have "
        f"{codes.values[0]:,.0f} different codes, which follow appearance. The scores are {first.values[0]:.3f} and "
        f"{whole.values[0]:.3f}. At α = {stops[-1]} only {codes.values[-1]:,.0f} codes are left for "
        f"{measured.data.labels.shape[1]} classes, with scores of {first.values[-1]:.3f} and {whole.values[-1]:.3f}. "
        "If each class has one code, a query gets either the code of its class, and all relevant items come first, "
        "or the code of another class, and none do. This helps the whole ranking, because no relevant item of a "
        "well-coded query is ranked last. It hurts the first hundred: similar-looking items, which could have "
        "rescued a doubtful query, no longer have their own codes. A score means little without its depth, so this "
        f"app always shows both. (These are image queries. For text queries mAP@100 goes from {by_text[0]:.3f} to "
        f"{by_text[-1]:.3f}.)",
        measured.for_every_run(),
    )


def compare_samples(measured: LessonRuns) -> WorkedLesson:
    """Compare sample sizes m: how few sampled items are enough, and how long all items take."""
    runs, items = measured.runs, len(measured.split.train)
    sizes = [run.method.get_params()["graph_sample"] for run in runs]
    stops = tuple("all" if size >= items else f"{size:,}" for size in sizes)
    by_text, by_image = measured.maps(TEXT_QUERIES), measured.maps(IMAGE_QUERIES)
    means = Series("mean", tuple((a + b) / 2 for a, b in zip(by_text, by_image, strict=True)))
    seconds = [run.seconds for run in runs]
    slowest = max(range(len(runs) - 1), key=seconds.__getitem__)
    best = f"The best of these samples is m = {stops[means.best]} of {items:,} items."
    if stops[means.best] == "all":
        best = f"m = {stops[-2]} gives {means.values[-2]:.3f}; all {items:,} items give {means.values[-1]:.3f}."
    reason = ""
    if seconds[-1] <= seconds[slowest]:
        reason = " Every new sample needs a new matrix inverse; all items together need only one."
    return WorkedLesson(
        "m",
        stops,
        (
            Series("text → image", by_text),
            Series("image → text", by_image),
            Series("training", tuple(seconds), "seconds"),
        ),
        tuple(
            f"m = {stop}: mAP@100 is {a:.3f} text → image and {b:.3f} image → text. Training took {run.seconds:.1f} s."
            for stop, a, b, run in zip(stops, by_text, by_image, runs, strict=True)
        ),
        f"Each of the {runs[0].hasher.trace[-1].iteration} iterations draws a new sample. {best} A small sample is "
        f"mostly noise (m = {stops[0]}: {means.values[0]:.3f}). The paper samples to save time, because it computes "
        "m² pairs. But the affinity of m items is the product of two small matrices, Â = L̂ₐL̂ₐᵀ. ÂŶ can be computed "
        "as L̂ₐ(L̂ₐᵀŶ), which takes m × classes × bits operations and never computes a pair. Measured here: "
        f"{seconds[-1]:.1f} s with all items, {seconds[slowest]:.1f} s with m = {stops[slowest]}.{reason}",
        measured.for_every_run(),
    )


def compare_lengths(measured: LessonRuns) -> WorkedLesson:
    """Compare code lengths: longer codes rank better, but a look-up within a radius finds less."""
    runs = measured.runs
    stops = tuple(str(run.method.bits) for run in runs)

    def rank_and_look_up(run: EvaluatedRun, row: int) -> Galleries:
        rows, distances = measured.nearest(run, IMAGE_QUERIES, row, MAX_LOOKED_UP)
        within = [found for found, distance in zip(rows, distances, strict=True) if distance <= RADIUS_BITS]
        count = f"{len(within)}" if len(within) < MAX_LOOKED_UP else f"{MAX_LOOKED_UP} or more"
        title = f"Look-up within {RADIUS_BITS} bits: {count} items"
        return (
            measured.gallery("Ranking for its picture", rows[:GALLERY_ITEMS], row),
            measured.gallery(title, within[:GALLERY_ITEMS], row),
        )

    ranked = Series("mAP@100", measured.maps(IMAGE_QUERIES))
    hits = tuple(float(run.scores[IMAGE_QUERIES].within.hits[RADIUS_BITS]) for run in runs)
    return WorkedLesson(
        "bits",
        stops,
        (ranked, Series(f"queries with a relevant item within {RADIUS_BITS} bits", hits, "share of queries")),
        tuple(
            f"{stop} bits: mAP@100 is {score:.3f}. {hit:.0%} of the image queries find a relevant item "
            f"within {RADIUS_BITS} bits."
            for stop, score, hit in zip(stops, ranked.values, hits, strict=True)
        ),
        f"From {stops[0]} to {stops[-1]} bits, mAP@100 goes from {ranked.values[0]:.3f} to "
        f"{ranked.values[-1]:.3f}: more bits distinguish more items. But the share of queries that find a "
        f"relevant item by looking up all codes within {RADIUS_BITS} bits goes from {hits[0]:.0%} to "
        f"{hits[-1]:.0%}. There are 2 to the power of {stops[-1]} codes, and almost none of those within "
        f"radius {RADIUS_BITS} of a query are in use. Therefore use long codes for ranking. For look-up, use "
        "short codes, or several tables that each index a part of a long code.",
        measured.for_every_run(rank_and_look_up),
    )


def compare_seeds(measured: LessonRuns) -> WorkedLesson:
    """Compare two settings with several seeds: which setting wins depends on the seed."""
    by_weight: dict[float, list[EvaluatedRun]] = {}
    for run in measured.runs:
        by_weight.setdefault(run.method.get_params()["graph_weight"], []).append(run)
    names = [f"α = {weight:g}" for weight in by_weight]
    seeds = [run.method.seed for run in next(iter(by_weight.values()))]
    a, b = (np.array([run.map(IMAGE_QUERIES) for run in runs]) for runs in by_weight.values())
    gain = a - b
    winner, loser = names if gain.mean() >= 0 else names[::-1]
    against = int(np.count_nonzero(np.sign(gain) != np.sign(gain.mean())))
    return WorkedLesson(
        "seed",
        tuple(map(str, seeds)),
        tuple(Series(name, tuple(map(float, of))) for name, of in zip(names, (a, b), strict=True)),
        tuple(
            f"Seed {seed}: {names[0]} has {x:.3f}, {names[1]} has {y:.3f}. With this seed alone, "
            f"{names[0] if x > y else names[1]} is better by {abs(x - y):.3f}."
            for seed, x, y in zip(seeds, a, b, strict=True)
        ),
        f"Over {len(seeds)} seeds, {names[0]} has {a.mean():.3f} ± {a.std(ddof=1):.3f} and {names[1]} has "
        f"{b.mean():.3f} ± {b.std(ddof=1):.3f}. On average {winner} beats {loser} by "
        f"{abs(gain.mean()):.3f}, but the seeds of a single setting differ by up to "
        f"{max(np.ptp(a), np.ptp(b)):.3f}. With {against} of {len(seeds)} seeds the other setting wins. "
        "A report from one of these seeds alone would claim the opposite, with three decimals. This is why "
        "Compare draws a band for the seeds and tests over queries whether a difference is more than noise.",
        {},
    )


def compare_tie_orders(measured: LessonRuns) -> WorkedLesson:
    """Compare orders of tied items: the same distances can have different scores."""
    runs, items = measured.runs, len(measured.split.train)
    stops = tuple(str(run.method.bits) for run in runs)
    found = [run.scores[IMAGE_QUERIES].average_precision["found"] for run in runs]
    best, worst = tuple(score.best for score in found), tuple(score.worst for score in found)
    by_class = [sort_ties_by_class(measured, run) for run in runs]

    def show_two_orders(run: EvaluatedRun, row: int) -> Galleries:
        rows, distances = measured.nearest(run, IMAGE_QUERIES, row, TIED_DEPTH)
        turned = [rows[k] for k in np.lexsort((-np.arange(len(rows)), np.array(distances)))]
        tied = distances.count(distances[0])
        tied_text = f" ({tied} items tied at the smallest distance)" if tied > 1 else ""
        return (
            measured.gallery(f"Database order{tied_text}", rows[:GALLERY_ITEMS], row),
            measured.gallery("Same distances, ties reversed", turned[:GALLERY_ITEMS], row),
        )

    return WorkedLesson(
        "bits",
        stops,
        (
            Series("database order", tuple(score.mean for score in found), band=(worst, best)),
            Series("best order", best),
            Series("worst order", worst),
            Series("sorted by class", tuple(float(scores.mean()) for scores in by_class)),
        ),
        tuple(
            f"{stop} bits: mAP@100 is {score.mean:.3f} with ties in database order. Other orders of the ties "
            f"give {score.worst:.3f} to {score.best:.3f}, on average {score.tie_aware:.3f}."
            for stop, score in zip(stops, found, strict=True)
        ),
        f"With {stops[0]} bits there are only {int(stops[0]) + 1} possible distances for {items:,} items, so "
        "most items are tied, and the order of the database decides which come first. With the very same "
        f"codes, mAP@100 could be {worst[0]:.3f} or {best[0]:.3f}. With {stops[-1]} bits the range shrinks "
        f"from {best[0] - worst[0]:.3f} to {best[-1] - worst[-1]:.3f}. A database file sorted by class does "
        f"not get the best order for free. Measured with {stops[0]} bits and {CLASS_ORDERS} random orders of "
        f"the classes: {by_class[0].min():.3f} to {by_class[0].max():.3f}, against {found[0].mean:.3f} in "
        f"database order and {best[0]:.3f} in the best order. Sorting puts each class in one block, and the "
        "block of the right class comes first only for some queries. This app ranks ties in database order "
        "and shows the range of other orders.",
        measured.for_every_run(show_two_orders),
    )


def sort_ties_by_class(measured: LessonRuns, run: EvaluatedRun) -> FloatArray:
    """Return mAP@100 of image queries with the database sorted by class, for random orders of the classes."""
    data, split, rng = measured.data, measured.split, np.random.default_rng(0)
    labels, scores = data.labels[split.train], []
    relevant = np.count_nonzero(data.labels[split.queries].astype(int) @ labels.T.astype(int), axis=1)
    for _ in range(CLASS_ORDERS):
        order = np.argsort(rng.permutation(labels.shape[1])[labels.argmax(axis=1)], kind="stable")
        codes = {name: own[order] for name, own in run.hasher.database_codes.items()}
        hasher, sorted_split = (replace(run.hasher, database_codes=codes), replace(split, train=split.train[order]))
        ranked = find_results(hasher, data, sorted_split, *IMAGE_QUERIES).relevance
        scores.append(average_precision(ranked, relevant, AP_DEFINITIONS["found"]).mean())
    return np.array(scores)


def compare_directions(measured: LessonRuns) -> WorkedLesson:
    """Compare text queries with image queries, class by class, on the same database."""
    run, data, split = measured.runs[0], measured.data, measured.split
    queries = list(measured.queries.values())
    classes = [int(data.labels[row].argmax()) for row in queries]
    by_query = {way: run.scores[way].average_precision["found"].by_query for way in (TEXT_QUERIES, IMAGE_QUERIES)}
    by_class = {
        way: tuple(float(scores[data.labels[split.queries, k]].mean()) for k in classes)
        for way, scores in by_query.items()
    }
    by_text, by_image = by_class[TEXT_QUERIES], by_class[IMAGE_QUERIES]
    stops = tuple(data.class_names[k] for k in classes)
    first = {way: float(run.scores[way].precision[0]) for way in by_query}
    agreement = {way: class_bit_agreement(measured, run, way[0]) for way in by_query}
    gaps = np.array(by_text) - np.array(by_image)
    codes = list(run.hasher.database_codes.values())
    same = all(np.array_equal(codes[0], other) for other in codes)
    return WorkedLesson(
        "class of the query",
        stops,
        (Series("text → image", by_text), Series("image → text", by_image)),
        tuple(
            f"{stop}: mAP@100 is {a:.3f} for text queries and {b:.3f} for image queries."
            for stop, a, b in zip(stops, by_text, by_image, strict=True)
        ),
        ("Both directions search the same list of codes, so the database is not the reason. " if same else "")
        + "The queries differ: text identifies the class more reliably. The first result has the query's "
        f"class for {first[TEXT_QUERIES]:.0%} of the texts and {first[IMAGE_QUERIES]:.0%} of the pictures. "
        "For each bit, take the value that most items of the class have. Text codes agree with these values in "
        f"{agreement[TEXT_QUERIES]:.0%} of their bits, picture codes in {agreement[IMAGE_QUERIES]:.0%}. "
        "The word “animal” names a class; an orange disc may be a fruit, a face or a sunset. The difference "
        f"is largest for {stops[int(gaps.argmax())]} ({gaps.max():+.3f}) and smallest for "
        f"{stops[int(gaps.argmin())]} ({gaps.min():+.3f}).",
        {"": tuple(measured.both_directions(run, row) for row in queries)},
    )


def class_bit_agreement(measured: LessonRuns, run: EvaluatedRun, modality: str) -> float:
    """Return the share of bits in which query codes equal the majority bit of the query's first class."""
    data, split, bits = measured.data, measured.split, run.hasher.bits
    database = unpack(next(iter(run.hasher.database_codes.values())), bits)
    labels = data.labels[split.train].astype(np.float64)
    majority = labels.T @ database > labels.sum(axis=0)[:, None] / 2
    codes = unpack(run.hasher.encode(modality, data.modalities[modality][split.queries]), bits)
    return float(np.mean(codes == majority[data.labels[split.queries].argmax(axis=1)]))


def compare_bits(measured: LessonRuns) -> WorkedLesson:
    """Compare the bits of two seeds: the classes of each bit, and whether bits with equal numbers agree."""
    first = measured.runs[0]
    second = next(run for run in measured.runs if run.method == replace(first.method, seed=first.method.seed + 1))
    data, split, bits, pair = measured.data, measured.split, first.hasher.bits, (first, second)
    topics = [describe_bits(run.hasher, data, split) for run in pair]
    codes = [unpack(next(iter(run.hasher.database_codes.values())), bits) for run in pair]
    contrasts = (class_contrast(own, data.labels[split.train]) for own in codes)
    a, b = (contrast - contrast.mean(axis=0) for contrast in contrasts)
    lengths = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    correlations = np.abs(np.divide(a.T @ b, lengths, out=np.zeros(lengths.shape), where=lengths > 0))
    classes = [[len(topic.follows) for topic in of_run] for of_run in topics]
    galleries = tuple(
        tuple(
            Gallery(f"Bit {k} is on, seed {run.method.seed}", rows, (True,) * len(rows))
            for run, of_run in zip(pair, topics, strict=True)
            if (rows := of_run[k].rows[:GALLERY_ITEMS])
        )
        for k in range(bits)
    )
    return WorkedLesson(
        "bit",
        tuple(map(str, range(bits))),
        tuple(
            Series(f"seed {run.method.seed}", tuple(map(float, of_run)), "classes")
            for run, of_run in zip(pair, classes, strict=True)
        ),
        tuple(
            f"Bit {k}: with seed {first.method.seed} it is on for {a.summary}; with seed "
            f"{second.method.seed} for {b.summary}."
            for k, (a, b) in enumerate(zip(*topics, strict=True))
        ),
        f"A bit seldom stands for one thing. With seed {first.method.seed}, each of the {bits} bits follows "
        f"{min(classes[0])} to {max(classes[0])} classes ({np.mean(classes[0]):.1f} on average), which means that "
        "the bit is on clearly more often for items of these classes. Bits are numbered in no particular order. Two "
        "bits can be compared by how often each is on in every class: bits with the same number in the two runs "
        f"have an absolute correlation of {np.diag(correlations).mean():.2f} on average, but a bit and the most "
        f"similar bit of the other run have {correlations.max(axis=1).mean():.2f}. Yet both runs search about "
        f"equally well: mAP@100 is {first.map(IMAGE_QUERIES):.3f} and {second.map(IMAGE_QUERIES):.3f}. Only whole "
        "codes and the distances between them have a meaning. The words beside a bit describe the items for which "
        "it is on; they do not define it.",
        {"": galleries},
    )


def choose_on_test_queries(measured: LessonRuns) -> WorkedLesson:
    """Choose the best of n runs on some queries; compare its score on these and on new queries."""
    by_query = np.array(
        [
            np.concatenate([scores.average_precision["found"].by_query for scores in run.scores.values()])
            for run in measured.runs
        ]
    )
    tried = [n for n in (1, 2, 4, 8, 16, 32) if n <= len(by_query)]
    reported, new = np.array([choose_on_half(by_query, n) for n in tried]).T
    mean = float(by_query.mean())
    return WorkedLesson(
        "settings tried",
        tuple(map(str, tried)),
        (
            Series("on the queries used to choose", tuple(map(float, reported))),
            Series("on new queries", tuple(map(float, new))),
        ),
        tuple(
            f"The best of {n}: {a:.3f} on the queries used to choose it, {b:.3f} on new queries. Overstated "
            f"by {a - b:.3f}."
            for n, a, b in zip(tried, reported, new, strict=True)
        ),
        f"The {len(by_query)} runs differ little: they have one of two settings, each with several seeds, and score "
        f"{mean:.3f} on average. Suppose that you try {tried[-1]} of them and choose the one with the best score on "
        f"some queries. You would report {reported[-1]:.3f}, but on new queries this run scores {new[-1]:.3f}: "
        f"{reported[-1] - new[-1]:.3f} of the reported score is luck, and the true gain is {new[-1] - mean:+.3f}. "
        "Every further setting that is tried adds luck, and a table of results does not show it. Therefore choose "
        "settings on validation folds of the training rows, as Tune does, and test on the held-out queries once.",
        {},
    )


def choose_on_half(by_query: FloatArray, tried: int, draws: int = RANDOM_HALVES) -> tuple[float, float]:
    """Repeat `draws` times: choose the best of `tried` runs on a random half of the queries.

    Returns its mean score on that half and its mean score on the other half, averaged over all draws.
    """
    rng, scores = np.random.default_rng(0), []
    for _ in range(draws):
        runs, order = rng.choice(len(by_query), tried, replace=False), rng.permutation(by_query.shape[1])
        seen, new = (by_query[np.ix_(runs, half)].mean(axis=1) for half in np.array_split(order, 2))
        scores.append((seen.max(), new[seen.argmax()]))
    reported, true = np.mean(scores, axis=0)
    return float(reported), float(true)


@dataclass(frozen=True)
class Lesson:
    """The texts of a lesson, the runs that answer its question, and the prediction that it asks for first."""

    title: str
    question: str
    task: str
    look_at: str
    runs: Comparison
    answer: Callable[[LessonRuns], WorkedLesson]
    predict: Callable[[WorkedLesson], Prediction]


def ask_best_stop(question: str, *series: int) -> Callable[[WorkedLesson], Prediction]:
    """Ask at which stop of the slider the sum of these series is highest."""

    def predict(worked: WorkedLesson) -> Prediction:
        values = np.sum([worked.series[number].values for number in series], axis=0)
        return Prediction(question, worked.stops, int(values.argmax()))

    return predict


def ask_difference(question: str, first: int, second: int, at: int) -> Callable[[WorkedLesson], Prediction]:
    """Ask by how much the first series exceeds the second at a stop, which replaces {stop} in the question."""

    def predict(worked: WorkedLesson) -> Prediction:
        difference = worked.series[first].values[at] - worked.series[second].values[at]
        truth = int(np.searchsorted(DIFFERENCES, difference, side="right"))
        return Prediction(question.format(stop=worked.stops[at]), SIZES, truth)

    return predict


def ask_reversed_seeds(worked: WorkedLesson) -> Prediction:
    """Ask with how many seeds the setting that is worse on average is better."""
    a, b = (np.array(series.values) for series in worked.series)
    wins = int(np.count_nonzero(np.sign(a - b) != np.sign((a - b).mean())))
    options = tuple(str(count) for count in range(len(a) // 2 + 1))
    better, worse = worked.series if (a - b).mean() >= 0 else worked.series[::-1]
    question = f"On average {better.name} beats {worse.name}. For how many of {len(a)} seeds is it the other way round?"
    return Prediction(question, options, min(wins, len(options) - 1))


def ask_better_classes(worked: WorkedLesson) -> Prediction:
    """Ask for how many classes text queries are better."""
    by_text, by_image = (np.array(series.values) for series in worked.series)
    wins, classes = int(np.count_nonzero(by_text > by_image)), len(by_text)
    truth = 0 if wins == 0 else 3 if wins == classes else 1 if wins <= classes / 2 else 2
    options = ("none", "at most half of them", "more than half", "all")
    return Prediction("For how many classes do text queries score higher than picture queries?", options, truth)


def ask_classes_of_bit(worked: WorkedLesson) -> Prediction:
    """Ask for how many classes a bit is on."""
    truth = int(np.searchsorted((1.5, 3.5), np.mean(worked.series[0].values), side="right"))
    options = ("about one", "two or three", "four or more")
    question = "On average, for how many classes is a bit on clearly more often than for others?"
    return Prediction(question, options, truth)


LESSONS: Mapping[str, Lesson] = MappingProxyType(
    {
        "two-truths": Lesson(
            "Two scores disagree",
            "How strongly should items of one class be pulled together?",
            "Increase α from 0, where labels only set the initial codes, until each class has a single code.",
            "Are both scores highest at the same α? How do the number of codes and the results change?",
            LABEL_WEIGHTS,
            compare_label_weights,
            ask_best_stop("Image queries: at which α is mAP@100 highest?", 0),
        ),
        "sample": Lesson(
            "A sample of the labels",
            "Must every iteration use the labels of all items?",
            "Change m, the number of items sampled in each iteration.",
            "How few items are enough? Does training take longer with all of them?",
            SAMPLES,
            compare_samples,
            ask_best_stop("With which sample size m is mAP@100 highest?", 0, 1),
        ),
        "length": Lesson(
            "Longer codes",
            "Are more bits always better?",
            "Change the number of bits.",
            "Compare the ranking with a look-up of the items within 2 bits of the query.",
            LENGTHS,
            compare_lengths,
            ask_best_stop("With how many bits is mAP@100 highest?", 0),
        ),
        "seed": Lesson(
            "One seed can mislead",
            "Which of two settings is better?",
            "Change the seed, which determines the random start of the training.",
            "Which setting wins? Would you have published the result of one seed?",
            SEEDS,
            compare_seeds,
            ask_reversed_seeds,
        ),
        "ties": Lesson(
            "Ties",
            "Can two rankings with the same distances have different scores?",
            "Change the number of bits.",
            "How much do the best and the worst order of the ties differ, in score and in results?",
            LENGTHS,
            compare_tie_orders,
            ask_difference("With {stop} bits, how far apart do the best and the worst order of ties score?", 1, 2, 0),
        ),
        "directions": Lesson(
            "Text and pictures",
            "Why do text queries find pictures better than picture queries find text?",
            "Step through the classes.",
            "Both directions search the same items. For which classes do picture queries fail most often?",
            SEEDS,
            compare_directions,
            ask_better_classes,
        ),
        "bit": Lesson(
            "What a bit means",
            "Does a single bit have a meaning?",
            "Step through the bits of two runs that differ only in their seed.",
            "For which items and how many classes is a bit on? And the bit with the same number in the other run?",
            SEEDS,
            compare_bits,
            ask_classes_of_bit,
        ),
        "test-set": Lesson(
            "Tuning on the test set",
            "Try several settings and report the score of the best one. What is wrong with that?",
            "Change the number of settings tried.",
            "Compare the reported score with the score of the same setting on new queries.",
            SEEDS,
            choose_on_test_queries,
            ask_difference("By how much is the score of the best of {stop} settings overstated?", 0, 1, -1),
        ),
    }
)
