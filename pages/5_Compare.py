"""Compare: methods, code lengths and seeds side by side, and whether differences are more than noise."""

from smfh.commands.compare import compare_command
from smfh.ui.compare.request import choose_grid
from smfh.ui.compare.view import draw_results
from smfh.ui.grids import draw_grid
from smfh.ui.page import begin_page

IDEA = "Which method is better, by how much, and is it more than noise?"

grid = choose_grid(*begin_page("Compare", IDEA, methods=False))
draw_grid(grid, "compare", "Train", lambda: draw_results(grid, compare_command))
