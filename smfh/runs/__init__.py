"""Runs: what identifies one, the run as a value, find or train, its file on disk.

    store = RunStore()
    run = find_or_train(store, source, method, data, split)  # by this program or any other, now or long ago
    run.scores("text", "image").mean_average_precision
    store.records()  # what is known of all that are kept

A file's name is the hash of all that decides the run, so that two programs which finish the same run write
the same file, and none waits for the other.
"""

from smfh.runs.ceilings import CeilingKey, ceiling_key, check_ceiling
from smfh.runs.film import Film
from smfh.runs.kept import KeptRuns, PrivateRuns
from smfh.runs.kernels import begin_compiling, is_ready
from smfh.runs.key import RunKey, run_key
from smfh.runs.limits import (
    bytes_of,
    check_cost,
    check_costs,
    check_own,
    check_plan,
    check_size,
    current_limits,
)
from smfh.runs.record import RunRecord, Timing
from smfh.runs.run import Run, Search, ready_searches, usual_first
from smfh.runs.store import Damaged, Listing, RunStore
from smfh.runs.training import find_or_keep, find_or_train, scored
