"""The paper's tables and figures: published numbers, measured numbers, and errata."""

from smfh.paper.figures import figure_2, figure_3, figure_4a, figure_4b
from smfh.paper.plan import (
    BENCHMARKS,
    PAPER_METHODS,
    PARTS,
    SEEDS,
    STAND_IN,
    TABLE_BITS,
    methods_by_bits,
    paper_method,
    paper_source,
    runnable,
    train_comparison,
)
from smfh.paper.published import (
    CITATION,
    COLUMNS,
    CONTRADICTED_CLAIMS,
    EQUATION_NOTE,
    ERRATA,
    NOT_AN_ERROR,
    NOT_REPRODUCED,
    TABLE_1,
    TABLE_2_BITS,
    TASKS,
    TOLERANCE,
    Erratum,
    published_score,
    published_seconds,
)
from smfh.paper.tables import (
    MEASURED_SEEDS,
    Cell,
    as_latex,
    as_rows,
    as_text,
    by_method,
    published_cells,
    summarise_agreement,
    table_cells,
    with_shipped,
)
