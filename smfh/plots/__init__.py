"""Figures: each function makes a chart from values, and the chart gives its figure, its text and its rows.

chart = precision_at_k(curves)
chart.title, chart.description, chart.figure(), csv_of(chart.rows())

A function that makes a chart is entered in CHARTS by the decorator `chart`, which puts it under test.
"""

from smfh.plots.bits import bit_balance, bit_classes, bit_correlation, bit_words, class_bits
from smfh.plots.chart import CHARTS, Axis, Chart, Mark, chart_html, csv_of, harmless, plotly_script
from smfh.plots.convergence import convergence
from smfh.plots.curves import (
    Curve,
    hit_rate_by_radius,
    precision_at_k,
    precision_by_recall,
    recall_at_k,
    size_by_radius,
)
from smfh.plots.distances import distance_histogram
from smfh.plots.labels import confusion, label_counts, label_pairs
from smfh.plots.landscape import MapChart, bucket_sizes, code_map
from smfh.plots.lessons import along_stops, objective_at
from smfh.plots.lines import LineChart
from smfh.plots.published import Published, agreement, with_crosses
from smfh.plots.scores import score_curves
from smfh.plots.slices import trial_contour, trial_slices
from smfh.plots.strips import bit_strips
from smfh.plots.studies import best_so_far, parameter_importance, trial_lines, trial_times
from smfh.plots.sweeps import sweep_curve, sweep_map, sweep_seconds
from smfh.plots.theme import METHOD_LOOKS, Look, method_look
from smfh.plots.tiles import Tile, bit_tiles
from smfh.plots.trials import TrialDot, trial_front, trial_history
