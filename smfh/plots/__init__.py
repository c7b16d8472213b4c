"""Charts: each function returns a Chart, which has a title, a description, a figure and table rows.

chart = precision_at_k(curves)
chart.title, chart.description, chart.figure(), csv_of(chart.rows())

The decorator `chart` registers a function in CHARTS, so that the tests cover it.
"""

from smfh.plots.bits import (
    Tile,
    bit_balance,
    bit_classes,
    bit_correlation,
    bit_tiles,
    bit_words,
    class_bits,
    confusion,
    label_counts,
    label_pairs,
)
from smfh.plots.chart import CHARTS, Axis, Chart, Mark, chart_html, csv_of, harmless, plotly_script
from smfh.plots.convergence import along_stops, answer_counts, convergence, objective_at
from smfh.plots.curves import (
    NOT_MEASURED,
    Curve,
    Published,
    agreement,
    hit_rate_by_radius,
    precision_at_k,
    precision_by_recall,
    recall_at_k,
    score_curves,
    size_by_radius,
    trial_precision,
    with_crosses,
)
from smfh.plots.densities import parameter_importance, trial_densities
from smfh.plots.lines import Line, LineChart
from smfh.plots.search import MapChart, bit_strips, bucket_sizes, code_map, distance_histogram
from smfh.plots.theme import METHOD_LOOKS, Look, method_look
from smfh.plots.trials import (
    TrialDot,
    sweep_curve,
    sweep_map,
    trial_contour,
    trial_front,
    trial_history,
    trial_lines,
    trial_slices,
)
