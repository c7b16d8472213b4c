"""The results that come with the program: complete, small, and equal to what a fresh run gives."""

import pytest

from smfh.datasets import Emoji
from smfh.experiments.comparison import Grid, default_comparison
from smfh.experiments.tuning import Studies, default_sweep
from smfh.folders import STUDIES_FILE, app_folder
from smfh.hashing import SMFHPlus
from smfh.lessons.lesson_runs import shipped_lesson
from smfh.lessons.lessons import LESSONS
from smfh.retrieval.evaluation import evaluate
from smfh.runs import RunStore, find_or_train
from smfh.runs.training import Snapshots
from smfh.types import InputError

FOLDER = app_folder() / "assets" / "results"
MAX_MEGABYTES = 6
TOLERANCE = 0.02  # of a score; another processor rounds differently


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path, shipped=FOLDER)


def test_they_are_small_and_belong_to_the_current_versions(store):
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < MAX_MEGABYTES * 1e6
    records = store.shipped_records()
    methods = {record.method for record in records}
    assert set(default_comparison(Emoji()).trainings) <= methods
    assert {record.method.version for record in records} == {record.method_version for record in records}
    assert all(record.method_version == record.method.version for record in records)


def test_the_default_run_has_its_model_and_needs_no_training(store):
    data, split = Emoji().load()
    snapshots = Snapshots()
    shown = find_or_train(store, Emoji(), SMFHPlus(), data, split, snapshots=snapshots)
    if data.fingerprint not in {record.key.data for record in store.shipped_records()}:
        pytest.skip("the features of this processor differ in the last bit, so results are computed here")
    assert len(snapshots) == 0  # nothing was trained
    assert store.records() == []
    again = evaluate(shown.hasher, data, split, "text", "image")  # with anchors from the data
    saved = shown.scores("text", "image")
    assert again.mean_average_precision == pytest.approx(saved.mean_average_precision, abs=1e-4)


def test_the_shipped_sweep_is_complete_and_is_the_first_that_tune_offers(tmp_path):
    (tmp_path / STUDIES_FILE).write_bytes((FOLDER / STUDIES_FILE).read_bytes())
    studies, plan = Studies(f"sqlite:///{tmp_path / STUDIES_FILE}"), default_sweep(Emoji(), SMFHPlus())
    assert studies.find(plan).progress.is_done
    assert studies.find(plan).is_shipped
    assert not studies.find(default_sweep(Emoji(), SMFHPlus(bits=32)))


def test_scores_without_a_model_say_so(store):
    record = next(record for record in store.shipped_records() if not record.model_arrays)
    with pytest.raises(InputError, match="Only the scores"):
        store.hasher(record)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smfh-plus", "smfh", "dch", "cvh"])
def test_a_fresh_run_has_the_shipped_scores(store, name):
    data, split = Emoji().load()
    record = next(
        one for one in store.shipped_records() if (one.method.name, one.method.bits, one.method.seed) == (name, 32, 1)
    )
    fresh = find_or_train(None, Emoji(), record.method, data, split)
    for search, header in record.searches.items():
        for definition, value in header["headline"].items():
            assert fresh.scores(*search).headline[definition] == pytest.approx(value, abs=TOLERANCE)


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_has_an_answer(name):
    runs = LESSONS[name].runs
    data, split = runs.source.load()
    worked = shipped_lesson(name, Grid(runs, data, split))
    if worked is None:
        pytest.skip("the features of this processor differ in the last bit, so results are computed here")
    assert len(worked.notes) == len(worked.stops)
    assert all(len(series.values) == len(worked.stops) for series in worked.series)
    assert len(worked.answer) > 20
