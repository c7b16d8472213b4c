"""The figures of a comparison, from the store alone: the same on the page and in the report."""

from collections.abc import Sequence

from smfh.comparison import Grid, View, curves, points
from smfh.plots import Chart, precision_at_k, precision_by_recall, recall_at_k, score_curves
from smfh.plots.lines import with_level
from smfh.plots.published import Published, with_crosses
from smfh.runs import KeptRuns

HITS = "queries with a relevant item within radius {} / all queries"
SECONDS = "wall-clock seconds of a training"
CLASSIFIER = "classifier"  # what the features allow
MICROSECONDS = "wall-clock time of all queries / their number"


def every_chart(
    grid: Grid, store: KeptRuns, view: View, published: Sequence[Published] = (), log: bool = False
) -> dict[str, Chart]:
    """All figures by a short name, scores by that of their definition, the chosen one first; `log` is for
    those over K."""
    at_one_length = curves(grid, store, view)
    hits = points(grid, store, view, f"hits_{view.radius}")
    training, encoding = (points(grid, store, view, measure) for measure in ("training", "encoding"))
    scores = {
        one.definition: score_chart(grid, store, one, published if one == view else ())
        for one in view.told_together
    }
    return scores | {
        "at_k": precision_at_k(at_one_length, log=log),
        "recall": recall_at_k(at_one_length, log=log),
        "radius": precision_by_recall(at_one_length),
        "hits": score_curves(hits, "look-up hit rate", formula=HITS.format(view.radius)),
        "training": score_curves(training, "training time (s)", formula=SECONDS, time=True),
        "encoding": score_curves(encoding, "encoding time (µs a query)", formula=MICROSECONDS, time=True),
    }


def score_chart(grid: Grid, store: KeptRuns, view: View, published: Sequence[Published] = ()) -> Chart:
    """The chosen score over code lengths, with chance, with what the features allow where that was measured,
    and with what a paper prints at these lengths."""
    found = points(grid, store, view)
    chart = score_curves(found, view.metric.label, formula=view.metric.formula)
    if (ceiling := store.ceiling(grid.ceiling_key)) is not None:
        levels = ceiling.scores.get((view.source, view.target, view.protocol), {})
        if view.definition in levels:
            chart = with_level(chart, CLASSIFIER, levels[view.definition])
    crosses = [cross for cross in published if cross.at in {point.at for point in found}]
    return with_crosses(chart, crosses) if crosses else chart
