"""Results that travel: a comparison as HTML report, LaTeX and rows, from the store alone."""

from smfh.export.figures import every_chart
from smfh.export.findings import compared_pairs, sentences, told_directions, winners
from smfh.export.latex import latex_of
from smfh.export.report import html_of, pair_rows, score_rows
from smfh.export.rows import csv_rows
