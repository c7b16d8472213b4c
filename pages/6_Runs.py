"""Runs: all saved runs with their settings and scores, and models from files."""

from smfh.ui.page import begin_plainly
from smfh.ui.runs.cluster import draw_cluster, draw_shards
from smfh.ui.runs.listing import draw_runs
from smfh.ui.runs.model_file import draw_load

IDEA = "Saved runs and their scores. Open, compare, annotate, download or delete runs."

settings = begin_plainly("Runs", IDEA, methods=False, data=False)
draw_cluster()
draw_shards()
draw_runs()
draw_load(settings)
