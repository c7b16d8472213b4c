"""Compare: methods, code lengths and seeds side by side, with what is noise and what is not."""

from smfh.commands.spelling import compare_command
from smfh.ui.compare.choice import choose_grid, draw_run
from smfh.ui.compare.view import draw_results
from smfh.ui.page import begin_page

settings, loaded = begin_page("Compare", "Which method is better, by how much, and is it more than noise?")
grid = choose_grid(settings, loaded)
draw_results(grid, moving=draw_run(grid), spell=compare_command)
