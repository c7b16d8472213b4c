"""Methods × bits × seeds on one data set: what to train, what is there already, and what it says.

comparison = Comparison(source, methods, bits=(16, 32, 64), seeds=3)
grid = grid_of(comparison, *source.load())
run_comparison(grid, store)                      # trains what the store has not
points(grid, store, "map")                       # from the store alone
"""

from smfh.comparison.grid import Comparison, Grid, grid_of, seconds_left
from smfh.comparison.measures import (
    MEASURES,
    MeanCurves,
    Point,
    mean_curves,
    points,
    query_precisions,
)
from smfh.comparison.running import (
    kept_or_trained,
    run_comparison,
    time_encoding,
    train_and_keep,
)
from smfh.comparison.visitors import ComparisonRun, Comparisons
from smfh.comparison.words import command_line, in_words, method_text, read_method

__all__ = [
    "MEASURES",
    "Comparison",
    "ComparisonRun",
    "Comparisons",
    "Grid",
    "MeanCurves",
    "Point",
    "command_line",
    "grid_of",
    "in_words",
    "kept_or_trained",
    "mean_curves",
    "method_text",
    "points",
    "query_precisions",
    "read_method",
    "run_comparison",
    "seconds_left",
    "time_encoding",
    "train_and_keep",
]
