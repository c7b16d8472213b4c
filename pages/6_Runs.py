"""Runs: what was trained, when, with what, and how it scored."""

from smfh.ui.page import begin_plainly
from smfh.ui.runs.cluster import draw_cluster
from smfh.ui.runs.listing import draw_runs
from smfh.ui.runs.load import draw_load
from smfh.ui.runs.shards import draw_shards

settings = begin_plainly(
    "Runs", "What was trained, and how it scored. Open one again, name it, take it along."
)
draw_cluster()
draw_shards()
draw_runs()
draw_load(settings)
