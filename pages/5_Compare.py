"""Compare: methods, code lengths and seeds side by side, with what is noise and what is not."""

from smfh.commands.spelling import compare_command
from smfh.ui.compare.choice import choose_grid
from smfh.ui.compare.view import draw_results
from smfh.ui.grids import draw_grid
from smfh.ui.page import begin_page

grid = choose_grid(*begin_page("Compare", "Which method is better, by how much, and is it more than noise?"))
draw_grid(grid, "compare", "Run", lambda: draw_results(grid, compare_command))
