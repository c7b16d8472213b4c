"""Export of a comparison (HTML report, LaTeX, CSV) and of a model (search page, files of codes)."""

from smfh.export.report import every_chart, html_of
from smfh.export.tables import (
    compared_pairs,
    csv_rows,
    latex_of,
    markdown_of,
    pair_rows,
    score_rows,
    sentences,
    table_directions,
    table_rows,
    winners,
)
