"""A comparison to take home: figures, tables and tests in words, from the store alone.

view = View("text", "image", definition="found")
html_of(grid, store, view), latex_of(grid, store, view), csv_of(csv_rows(grid, store))
"""

from smfh.report.figures import every_chart
from smfh.report.latex import latex_of
from smfh.report.table import csv_rows
from smfh.report.view import View, compared_pairs, sentences, told_directions
from smfh.report.whole import html_of, pair_rows, score_rows

__all__ = [
    "View",
    "compared_pairs",
    "csv_rows",
    "every_chart",
    "html_of",
    "latex_of",
    "pair_rows",
    "score_rows",
    "sentences",
    "told_directions",
]
