"""Figures: each function makes a chart from values, and the chart gives its figure, its text and its rows.

chart = precision_at_k(runs)
chart.title, chart.description, chart.figure(), csv_of(chart.rows())
"""

from smfh.plots.bits import bit_balance, bit_correlation, bit_kinds, class_bits
from smfh.plots.chart import Axis, Chart, csv_of
from smfh.plots.confusion import confusion
from smfh.plots.convergence import convergence
from smfh.plots.curves import (
    Run,
    hit_rate_by_radius,
    precision_at_k,
    precision_recall_by_radius,
    recall_at_k,
    size_by_radius,
)
from smfh.plots.distances import distance_histogram
from smfh.plots.labels import label_counts, label_pairs
from smfh.plots.scores import Measured, score_curves
from smfh.plots.theme import METHOD_COLOURS, method_colour, term_colour

__all__ = [
    "METHOD_COLOURS",
    "Axis",
    "Chart",
    "Measured",
    "Run",
    "bit_balance",
    "bit_correlation",
    "bit_kinds",
    "class_bits",
    "confusion",
    "convergence",
    "csv_of",
    "distance_histogram",
    "hit_rate_by_radius",
    "label_counts",
    "label_pairs",
    "method_colour",
    "precision_at_k",
    "precision_recall_by_radius",
    "recall_at_k",
    "score_curves",
    "size_by_radius",
    "term_colour",
]
