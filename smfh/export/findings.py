"""What the test over queries says of a comparison, and which directions a table tells."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from smfh.comparison import Grid, View, query_precisions
from smfh.runs import KeptRuns
from smfh.significance import Difference, compare_pairs, in_words

MOST_DIRECTIONS = 6  # that tables tell: those of three modalities


def told_directions(grid: Grid, view: View) -> list[tuple[str, str]]:
    """All of them; where many modalities make hundreds, that of the view and its reverse."""
    if len(grid.directions) <= MOST_DIRECTIONS:
        return grid.directions
    return [(view.source, view.target), (view.target, view.source)]


def compared_pairs(grid: Grid, store: KeptRuns, view: View) -> list[Difference]:
    """Every pair of methods that have been trained at this length; none where there is one method."""
    AP = query_precisions(grid, store, view)
    if len(AP) < 2 or any(values.shape[1] < 2 for values in AP.values()):
        return []
    return compare_pairs(AP)


def winners(by_measure: Mapping[str, Sequence[Difference]]) -> str:
    """Who is first by each measure; nothing where there is nothing to compare."""
    first = {measure: pairs[0].first for measure, pairs in by_measure.items() if pairs}
    if len(set(first.values())) == 1:
        return f"{next(iter(first.values()))} is first by {', '.join(first)}."
    told = [f"{name} by {measure}" for measure, name in first.items()]
    return f"The measures disagree about the first: {', '.join(told)}." if told else ""


def sentences(pairs: Sequence[Difference], view: View) -> list[str]:
    """Each method against the next best one, in words."""
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    neighbours = set(pairwise(order))
    where = f"at {view.bits} bits, {view.direction}"
    return [in_words(pair, where) for pair in pairs if (pair.first, pair.second) in neighbours]
