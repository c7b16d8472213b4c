"""Saved runs: everything comes back, unfinished files are never seen, and bad files do no harm."""

import errno
import json
import os
import re
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.datasets.user_data import UserDataset, example_archive
from smfh.files import read_npz, write_npz
from smfh.hashing import SMFHPlus, make_method
from smfh.retrieval.evaluation import evaluate
from smfh.runs import MemoryRuns, RunStore, Timing, ensure_saved, find_or_train, ready_searches, run_key
from smfh.runs.training import train
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(bits=8, iterations=2, rounds=1, anchors=20)
TEXT_TO_IMAGE = ("text", "image", "training")


@pytest.fixture(scope="module")
def loaded():
    return SOURCE.load()


@pytest.fixture(scope="module")
def key(loaded):
    return run_key(*loaded, QUICK)


@pytest.fixture(scope="module")
def run(key, loaded):
    return train(key, SOURCE, *loaded)[0]


@pytest.fixture
def saved(store, run, loaded):
    return store.save(run, Timing(run.hasher.seconds, {"image": 0.1, "text": 0.2}, 1.5))


def same_scores(one, other):
    """Compare everything that a chart or a table may show, bit by bit."""
    np.testing.assert_equal(asdict(one), asdict(other))


def test_a_run_comes_back_as_it_was(store, saved, key, run):
    fresh = RunStore(store.folder)
    record = fresh.find(key)
    assert record == saved
    assert (record.source, record.method, record.is_current) == (SOURCE, QUICK, True)
    assert record.timing.training == run.hasher.seconds
    assert record.trained_on == run.hasher.trained_on
    assert (record.training_items, record.queries) == (45, 15)
    hasher = fresh.hasher(record)
    for modality, codes in run.hasher.database_codes.items():
        np.testing.assert_array_equal(hasher.database_codes[modality], codes)
    assert [step.terms for step in hasher.trace] == [step.terms for step in run.hasher.trace]


def test_all_scores_come_back_and_are_cached(store, saved, run, loaded):
    for search in ready_searches(run.hasher.directions):
        again = store.scores(saved, *loaded, *search)
        same_scores(again, evaluate(run.hasher, *loaded, *search))
        assert store.scores(saved, *loaded, *search) is again
    assert saved.headline(*TEXT_TO_IMAGE) == run.scores(*TEXT_TO_IMAGE).headline


def test_with_many_modalities_the_first_searches_are_saved_and_others_computed(store):
    source = Planted(items=60, modalities=4)
    data, split = source.load()
    record = ensure_saved(store, source, replace(QUICK, seed=3), data, split)
    assert len(record.searches) == 2 * 2 * 2
    assert {search[:2] for search in record.searches} == {("text", "image"), ("image", "text")}
    found = store.scores(record, data, split, "sound", "touch", "unseen")
    same_scores(found, evaluate(store.hasher(record), data, split, "sound", "touch", "unseen"))


def test_runs_on_uploads_are_not_saved_on_disk(store):
    source = UserDataset(example_archive(), "mine.zip")
    run = find_or_train(store, source, make_method("cvh", bits=4), *source.load())
    assert run.scores("text", "image").queries > 0
    with pytest.raises(InputError, match="private and not saved on disk"):
        store.save(run, Timing(0.0, {}, 0.0))
    assert not store.folder.exists()


def test_a_run_of_an_earlier_method_version_is_listed_but_not_found(store, saved, loaded, monkeypatch):
    monkeypatch.setattr(SMFHPlus, "version", SMFHPlus.version + 1)
    fresh = RunStore(store.folder)
    assert fresh.find(run_key(*loaded, QUICK)) is None
    (record,) = fresh.records()
    assert not record.is_current
    assert fresh.hasher(record).method == QUICK
    assert fresh.listing().damaged == ()


def test_the_oldest_run_in_memory_is_dropped(loaded):
    runs = MemoryRuns(max_runs=1)
    first, second = (ensure_saved(runs, SOURCE, make_method("cvh", bits=b), *loaded) for b in (4, 8))
    assert runs.records() == [second]
    with pytest.raises(InputError, match="no longer in memory"):
        runs.scores(first, *loaded, *TEXT_TO_IMAGE)


def test_a_header_without_a_newer_parameter_is_read(store, saved, key, monkeypatch):
    path = store.folder / f"{saved.id}.npz"
    change_header(path, lambda header: header["parameters"].pop("tolerance"))
    assert RunStore(store.folder).find(key).method == QUICK


def test_a_run_notes_who_saved_it_and_stays_the_same_run(store, run, saved):
    again = store.saving_as("ann").save(run, Timing(0.0, {}, 0.0))
    assert (saved.saved_by, again.saved_by) == ("", "ann")
    assert again.id == saved.id
    assert RunStore(store.folder).get(again.id).saved_by == "ann"


def test_titles_are_set_and_removed(store, saved):
    store.rename(saved.id, "  my\n\x00 best  run ")
    assert RunStore(store.folder).get(saved.id).title == "my best run"
    store.rename(saved.id, "")
    assert store.get(saved.id).title == ""
    with pytest.raises(InputError, match="at most 80 characters; this one has 81"):
        store.rename(saved.id, "x" * 81)


def test_notes_are_set_and_removed_and_do_not_change_the_title(store, saved):
    assert saved.note == ""  # as in files that were saved before notes existed
    store.rename(saved.id, "best")
    store.annotate(saved.id, "  for the\n\x00 talk in May ")
    found = RunStore(store.folder).get(saved.id)
    assert (found.title, found.note) == ("best", "for the talk in May")
    store.annotate(saved.id, "ü" * 500)
    assert RunStore(store.folder).records()[0].note == "ü" * 500
    with pytest.raises(InputError, match="A note has at most 500 characters; this one has 501"):
        store.annotate(saved.id, "x" * 501)
    store.annotate(saved.id, " ")
    assert store.get(saved.id).note == ""
    assert store.get(saved.id).title == "best"


def test_a_note_file_that_anyone_wrote_is_cut_and_decoded(store, saved):
    (store.folder / f"{saved.id}.note").write_bytes(b"\xff" + b"x" * 5000)
    assert store.get(saved.id).note == "\ufffd" + "x" * 499


def test_deleting_removes_the_run_its_title_and_its_note(store, saved, key):
    store.rename(saved.id, "title")
    store.annotate(saved.id, "note")
    store.delete(saved.id)
    store.delete(saved.id)
    assert store.find(key) is None
    assert list(store.folder.iterdir()) == []
    with pytest.raises(InputError):
        store.hasher(saved)


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "a" * 63, "A" * 64, "a" * 64 + "/../x"])
def test_only_valid_ids_are_used_as_file_names(store, bad):
    edits = (partial(store.rename, title="x"), partial(store.annotate, note="x"))
    for use in (store.get, store.delete, *edits):
        with pytest.raises(InputError, match="64 hexadecimal digits"):
            use(bad)


def test_a_full_folder_is_a_problem_until_there_is_space(store, saved, key, run, loaded):
    full = RunStore(store.folder, gigabytes=(saved.bytes - 1) / 1e9)
    with pytest.raises(InputError, match="delete some on the Runs page, or raise SMFH_RUNS_GB"):
        full.save(run, Timing(0.0, {}, 0.0))
    assert full.find(key) is not None
    find_or_train(full.saving_as("ann"), SOURCE, replace(QUICK, seed=1), *loaded)
    assert "delete some on the Runs page" in full.save_problem
    assert len(full.records()) == 1
    full.delete(saved.id)
    assert full.save_problem == ""


def test_a_folder_that_cannot_be_created_is_reported(run, tmp_path):
    (tmp_path / "file").write_text("no folder")
    store = RunStore(tmp_path / "file" / "runs")
    with pytest.raises(InputError, match="folder of saved runs cannot be"):
        store.saving_as("ann").save(run, Timing(0.0, {}, 0.0))


def change_header(path, change):
    arrays = read_npz(path)
    header = json.loads(arrays["run"].tobytes())
    change(header)
    write_npz(path, arrays | {"run": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda h: h.update(format="cat"), "It has the format cat, version 5"),
        (lambda h: h.update(dataset="atlantis"), "Unknown data set 'atlantis'"),
        (lambda h: h.update(method="md5"), "Unknown method 'md5'"),
        (lambda h: h["parameters"].update(seed=7), "renamed or changed"),
        (lambda h: h["options"].update(items="many"), "items"),
        (lambda h: h.pop("searches"), "searches"),
        (lambda h: h["searches"][0]["headline"].update(full=float("inf")), "finite"),
        (lambda h: h.update(queries=10**400), "number of items"),
        (lambda h: h.update(when="yesterday"), "yesterday"),
        (lambda h: h.update(timing=3), "does not describe a run"),
    ],
)
def test_a_changed_header_is_listed_as_damaged_and_not_found(store, saved, key, change, problem):
    change_header(store.folder / f"{saved.id}.npz", change)
    for reader in (store, RunStore(store.folder)):
        assert reader.find(key) is None
        (damaged,) = reader.listing().damaged
        assert re.search(problem, damaged.problem)
        assert not damaged.older
        assert reader.records() == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_run_saved_by_an_older_program_is_listed_as_such(store, saved, key, version):
    change_header(store.folder / f"{saved.id}.npz", lambda h: h.update(version=version, timing=None))
    assert store.find(key) is None
    (file,) = store.listing().damaged
    assert file.older
    assert file.problem.startswith(f"{saved.method.name} on {saved.source.name}, saved by an older version")


def test_a_run_saved_before_there_were_distances_is_read(store, saved, key, loaded, run):
    def make_old(header):
        header["version"] = 4
        header["searches"] = [one for one in header["searches"] if one["search"].pop() == "hamming"]

    change_header(store.folder / f"{saved.id}.npz", make_old)
    fresh = RunStore(store.folder)
    record = fresh.find(key)
    assert record.headline(*TEXT_TO_IMAGE) == saved.headline(*TEXT_TO_IMAGE)
    for search in ready_searches(run.hasher.directions):
        same_scores(fresh.scores(record, *loaded, *search), run.scores(*search))


def test_the_number_of_codes_of_an_older_run_is_counted_in_its_model_or_left_out(store, saved, key, loaded, run):
    path = store.folder / f"{saved.id}.npz"
    change_header(path, lambda header: [one.pop("distinct_codes") for one in header["searches"]])
    fresh = RunStore(store.folder)
    for search in ready_searches(run.hasher.directions):
        same_scores(fresh.scores(fresh.find(key), *loaded, *search), run.scores(*search))
    change_header(path, lambda header: header.update(model_arrays=[]))
    without_model = RunStore(store.folder)
    scores = without_model.scores(without_model.find(key), *loaded, *TEXT_TO_IMAGE)
    assert scores.distinct_codes is None
    assert "distinct" not in repr(scores)
    assert "distinct_codes" not in scores.graded


def test_damaged_and_foreign_files_break_nothing(store, saved, key, run):
    folder = store.folder
    whole = (folder / f"{saved.id}.npz").read_bytes()
    (folder / f"{'a' * 64}.npz").write_bytes(whole)  # the content of another run
    (folder / f"{'b' * 64}.npz").write_bytes(b"")
    (folder / f"{'c' * 64}.npz").write_bytes(whole[: len(whole) // 2])
    (folder / f"{'d' * 64}.npz").mkdir()
    os.mkfifo(folder / f"{'e' * 64}.npz")
    (folder / f"{'1' * 64}.npz").symlink_to(f"{'1' * 64}.npz")  # broken links are ignored
    (folder / f"{'2' * 64}.npz").symlink_to("/nowhere")
    (folder / "notes.txt").write_text("hello")
    (folder / "..npz").write_text("hello")
    listing = RunStore(folder).listing()
    assert [record.id for record in listing.runs] == [saved.id]
    assert {damaged.id[0] for damaged in listing.damaged} == set("abcde")
    (folder / f"{saved.id}.npz").write_bytes(whole[:-100])
    assert store.find(key) is None
    store.save(run, Timing(0.0, {}, 0.0))
    assert store.find(key) is not None


def test_text_from_a_forged_header_is_cut(store, saved):
    long = "x" * 100_000
    for forged in ({"format": long}, {"version": long}, {"timing": {long: 1}}, {"when": long}):
        path = store.folder / f"{saved.id}.npz"
        change_header(path, lambda header, forged=forged: header.update(forged))
        assert len(RunStore(store.folder).listing().damaged[0].problem) < 400


def test_damage_in_the_scores_is_found_on_reading_and_then_listed(store, saved, key, loaded, run):
    path, part = store.folder / f"{saved.id}.npz", "scores.0.average_precision"
    arrays = read_npz(path)
    write_npz(path, arrays | {part: arrays[part][:-1]})
    with pytest.raises(InputError, match="average_precision should be finite"):
        store.scores(store.find(key), *loaded, *next(iter(saved.searches)))
    assert store.find(key) is None
    assert "average_precision should be" in store.listing().damaged[0].problem
    again = find_or_train(store, SOURCE, QUICK, *loaded)
    same_scores(again.scores(*TEXT_TO_IMAGE), run.scores(*TEXT_TO_IMAGE))
    assert store.find(key) is not None


def test_a_replaced_file_is_read_again(store, saved, key, run):
    reader = RunStore(store.folder)
    assert reader.find(key).timing.run == 1.5
    store.save(run, Timing(0.0, {}, 99.0))
    assert reader.find(key).timing.run == 99.0


def test_a_saved_run_is_found_and_not_trained_again(store, key, loaded):
    def never(step):
        raise AssertionError("trained again")

    first = find_or_train(store, SOURCE, QUICK, *loaded)
    assert [record.id for record in RunStore(store.folder).records()] == [key.id]  # at once
    again = find_or_train(store, SOURCE, QUICK, *loaded, never)
    for search in ready_searches(first.hasher.directions):
        same_scores(again.scores(*search), first.scores(*search))
    np.testing.assert_array_equal(again.results("text", "image").rows, first.results("text", "image").rows)
    assert ensure_saved(store, SOURCE, QUICK, *loaded, never).id == key.id


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), MemoryError(), ValueError("x")])
def test_a_run_that_cannot_be_saved_is_returned_with_a_problem(store, loaded, monkeypatch, error):
    def refuse(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("smfh.runs.store.write_npz", refuse)
        run = find_or_train(store, SOURCE, QUICK, *loaded)
    assert run.scores("text", "image").queries == 15
    assert store.records() == []
    if isinstance(error, OSError):
        assert "Input/output error" in store.save_problem
    store.save(run, Timing(0.0, {}, 0.0))
    assert store.save_problem == ""
