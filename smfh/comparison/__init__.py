"""Methods × bits × seeds on one data set: what to train, what is there already, and what it says.

comparison = Comparison(source, methods, bits=(16, 32, 64), seeds=3)
grid = Grid(comparison, *source.load())
train_grid(grid, store)                          # trains what the store has not
points(grid, store, View("text", "image"))       # from the store alone
"""

from smfh.comparison.grid import (
    Comparison,
    Grid,
    GridKey,
    estimate_seconds,
    name_training,
    setting_of,
    value_in_words,
)
from smfh.comparison.measures import MEASURES, View, curves, points, points_every_way, query_precisions
from smfh.comparison.training import GridProgress, Problems, ceiling_work, grid_work, train_grid
