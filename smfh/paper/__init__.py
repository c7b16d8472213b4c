"""The paper's tables and figures: what it prints, what is measured beside it, and where it is wrong."""

from smfh.paper.errata import ERRATA, NOT_REPRODUCED, NUMBERS, RIGHT, WORDS, Erratum
from smfh.paper.figures import figure_2, figure_3, figure_4a, figure_4b
from smfh.paper.plan import (
    BENCHMARKS,
    PAPER_METHODS,
    PARTS,
    SEEDS,
    STAND_IN,
    TABLE_BITS,
    Part,
    paper_method,
    runnable,
)
from smfh.paper.published import (
    CITATION,
    COLUMNS,
    REASONS,
    TABLE_1,
    TASKS,
    TIMES,
    TOLERANCE,
    published_score,
    published_seconds,
)
from smfh.paper.tables import Cell, as_rows, in_words, measure_table, published_cells, table_cells
from smfh.paper.text import as_latex, as_text, heading
