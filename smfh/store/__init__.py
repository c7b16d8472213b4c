"""Finished runs on disk: one file a run, whole or not there, shared by any number of programs at once.

    store = RunStore(runs_folder())
    record = store.save(key, source, trained, timing)
    run = store.find(key)  # in this program or in any other, now or after a crash
    run.result("text", "image", "training", definition).scores

A run is what decides it: data, split, method with all parameters. Its file's name is the hash of that, so
that two programs which finish the same run write the same file, and none waits for the other. A file holds
the model and, for every search, which answers were relevant and how many items lie at each distance: enough
for any score, without training or ranking again.
"""

from smfh.store.folder import RunStore, StoredRun, runs_folder
from smfh.store.judgement import Judged
from smfh.store.record import Damaged, Listing, RunRecord, Timing, run_id

__all__ = [
    "Damaged",
    "Judged",
    "Listing",
    "RunRecord",
    "RunStore",
    "StoredRun",
    "Timing",
    "run_id",
    "runs_folder",
]
