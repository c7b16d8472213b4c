"""Results that travel: a comparison as report, LaTeX and rows; a model as a search page, or its codes."""

from smfh.export.figures import every_chart
from smfh.export.findings import compared_pairs, sentences, told_directions, winners
from smfh.export.latex import latex_of
from smfh.export.report import html_from, html_of, pair_rows, score_rows
from smfh.export.rows import csv_rows
