"""Runs: train a method with given parameters, data and seed; score, save and find the result.

    store = RunStore()
    run = find_or_train(store, source, method, data, split)  # read from the store, or else trained and saved
    run.scores("text", "image").mean_average_precision
    store.records()

The name of a run's file is the SHA-256 of its key. Two programs that finish the same run write the same
file, so neither waits for the other.
"""

from smfh.runs.limits import (
    check_classifier_cost,
    check_cost,
    check_costs,
    check_source_size,
    check_study_cost,
    check_upload_size,
    current_limits,
    dataset_bytes,
    estimate,
)
from smfh.runs.run import (
    ClassifierLevelKey,
    Run,
    RunKey,
    RunRecord,
    Search,
    Timing,
    classifier_level_key,
    ready_searches,
    run_key,
    text_to_image_first,
)
from smfh.runs.run_file import finite, versions
from smfh.runs.store import DamagedRun, Listing, MemoryRuns, RunStore, SavedRuns
from smfh.runs.training import Snapshots, begin_compiling, ensure_saved, find_or_train, is_ready, score_run
