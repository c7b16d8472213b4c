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
    recall_at_k,
    size_by_radius,
)
from smfh.plots.distances import distance_histogram
from smfh.plots.labels import label_counts, label_pairs
from smfh.plots.landscape import bucket_sizes, code_map
from smfh.plots.published import Published, agreement, with_crosses
from smfh.plots.reach import reach_histogram
from smfh.plots.scores import Measured, score_curves
from smfh.plots.seeds import MethodCurve, curves_over_k, radius_over_seeds
from smfh.plots.standalone import chart_html, plotly_script
from smfh.plots.strips import bit_strips
from smfh.plots.theme import METHOD_COLOURS, method_colour, term_colour
from smfh.plots.tiles import Tile, bit_tiles
from smfh.plots.topics import bit_classes, bit_words

__all__ = [
    "METHOD_COLOURS",
    "Axis",
    "Chart",
    "Measured",
    "MethodCurve",
    "Published",
    "Run",
    "Tile",
    "agreement",
    "bit_balance",
    "bit_classes",
    "bit_correlation",
    "bit_kinds",
    "bit_strips",
    "bit_tiles",
    "bit_words",
    "bucket_sizes",
    "chart_html",
    "class_bits",
    "code_map",
    "confusion",
    "convergence",
    "csv_of",
    "curves_over_k",
    "distance_histogram",
    "hit_rate_by_radius",
    "label_counts",
    "label_pairs",
    "method_colour",
    "plotly_script",
    "precision_at_k",
    "radius_over_seeds",
    "reach_histogram",
    "recall_at_k",
    "score_curves",
    "size_by_radius",
    "term_colour",
    "with_crosses",
]
