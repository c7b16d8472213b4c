"""Runs that are kept: everything comes back, nothing half is ever seen, and bad files do no harm."""

import errno
import json
import multiprocessing
import os
import re
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.files import read_npz, write_npz
from smfh.hashing import METHODS, SMFHPlus, load_hasher, make_method
from smfh.runs import RunStore, Timing, find_or_keep, find_or_train, ready_searches, run_key
from smfh.runs import key as keys
from smfh.runs.training import time_encoding, train
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(bits=8, iterations=2, rounds=1, anchors=20)
SOON = 60  # seconds after which a test that hangs fails
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
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def saved(store, run, loaded):
    return store.save(run, Timing(run.hasher.seconds, time_encoding(run.hasher, *loaded), 1.5))


def same_scores(one, other):
    """To the last bit, in everything that a chart or a table may show."""
    assert (one.source, one.target, one.protocol, one.queries) == (
        other.source, other.target, other.protocol, other.queries
    )  # fmt: skip
    assert one.average_precision.keys() == other.average_precision.keys()
    for name, score in one.average_precision.items():
        again = other.average_precision[name]
        np.testing.assert_array_equal(score.by_query, again.by_query)
        for figure in ("definition", "tie_aware", "best", "worst", "chance", "mean"):
            assert getattr(score, figure) == getattr(again, figure)
    for curve in ("precision", "recall"):
        np.testing.assert_array_equal(getattr(one, curve), getattr(other, curve))
    for curve in ("items", "hits", "precision", "recall"):
        np.testing.assert_array_equal(getattr(one.within, curve), getattr(other.within, curve))
    assert one.chance_precision == other.chance_precision
    assert one.queries_without_relevant == other.queries_without_relevant


def test_a_run_comes_back_as_it_was(store, saved, key, run):
    fresh = RunStore(store.folder)
    record = fresh.find(key)
    assert record == saved
    assert record.source == SOURCE
    assert record.method == QUICK
    assert record.is_current
    assert record.timing.training == run.hasher.seconds
    assert record.timing.encoding.keys() == {"image", "text"}
    assert record.trained_on == run.hasher.trained_on
    assert (record.training_items, record.queries) == (45, 15)
    hasher = fresh.hasher(record)
    for modality, codes in run.hasher.database_codes.items():
        np.testing.assert_array_equal(hasher.database_codes[modality], codes)
    assert [step.terms for step in hasher.trace] == [step.terms for step in run.hasher.trace]


def test_all_scores_come_back_and_are_remembered(store, saved, run, loaded):
    for search in ready_searches(run.hasher.directions):
        again = store.scores(saved, *loaded, *search)
        same_scores(again, evaluate(run.hasher, *loaded, *search))
        assert store.scores(saved, *loaded, *search) is again
    assert saved.headline(*TEXT_TO_IMAGE) == run.scores(*TEXT_TO_IMAGE).headline


def test_many_modalities_keep_the_usual_searches_and_rank_the_others_when_asked(store):
    source = Planted(items=60, modalities=4)
    data, split = source.load()
    record = find_or_keep(store, source, replace(QUICK, seed=3), data, split)
    assert list(record.searches) == [
        (*direction, protocol)
        for direction in (("text", "image"), ("image", "text"))
        for protocol in ("training", "unseen")
    ]
    found = store.scores(record, data, split, "sound", "touch", "unseen")
    same_scores(found, evaluate(store.hasher(record), data, split, "sound", "touch", "unseen"))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_kept(store, loaded, name):
    method = make_method(name, bits=4)
    record = find_or_keep(store, SOURCE, method, *loaded)
    assert record.method == method
    assert store.hasher(record).method == method


def test_own_data_is_never_kept(store, key, run):
    private = replace(run, key=replace(key, owner="somebody"))
    with pytest.raises(InputError, match="not kept on disk"):
        store.save(private, Timing(0.0, {}, 0.0))
    assert not store.folder.exists()
    assert store.find(private.key) is None


def test_a_run_trained_by_an_earlier_version_is_listed_and_not_found(store, saved, key, monkeypatch):
    monkeypatch.setattr(keys, "behaviour_of", lambda method: "another")
    monkeypatch.setattr("smfh.runs.record.behaviour_of", lambda method: "another")
    fresh = RunStore(store.folder)
    assert fresh.find(key) is None
    (record,) = fresh.records()
    assert not record.is_current
    assert fresh.hasher(record).method == QUICK
    assert fresh.listing().damaged == ()


def test_a_header_from_before_a_parameter_existed_is_no_damage(store, saved, key, monkeypatch):
    path = store.folder / f"{saved.id}.npz"
    change_header(path, lambda header: header["parameters"].pop("tolerance"))
    assert RunStore(store.folder).find(key).method == QUICK


def test_a_run_tells_who_made_it_and_is_the_same_run(store, run, saved):
    made = store.by("ann").save(run, Timing(0.0, {}, 0.0))
    assert (saved.maker, made.maker) == ("", "ann")
    assert made.id == saved.id
    assert RunStore(store.folder).get(made.id).maker == "ann"
    assert store.maker == ""
    change_header(store.folder / f"{made.id}.npz", lambda header: header.pop("maker"))
    assert store.get(made.id).maker == ""  # as from before there were makers


def test_titles_are_given_changed_and_taken_away(store, saved):
    store.rename(saved.id, "  my\n\x00 best  run ")
    assert RunStore(store.folder).get(saved.id).title == "my best run"
    store.rename(saved.id, "")
    assert store.get(saved.id).title == ""
    with pytest.raises(InputError, match="at most 80 characters; this one has 81"):
        store.rename(saved.id, "x" * 81)


@pytest.mark.parametrize("change", [partial(RunStore.rename, title=""), RunStore.delete])
def test_a_folder_that_may_only_be_read_is_told(store, saved, monkeypatch, change):
    def refuse(path, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system")

    store.rename(saved.id, "title")
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(InputError, match=r"cannot be (taken away|deleted): Read-only file system\."):
        change(store, saved.id)


def test_deleting_removes_all_of_a_run(store, saved, key):
    store.rename(saved.id, "title")
    store.delete(saved.id)
    store.delete(saved.id)
    assert store.find(key) is None
    assert list(store.folder.iterdir()) == []
    with pytest.raises(InputError):
        store.hasher(saved)


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "a" * 63, "A" * 64, "a" * 64 + "/../x"])
def test_only_ids_become_file_names(store, bad):
    for use in (store.get, store.delete, partial(store.rename, title="x")):
        with pytest.raises(InputError, match="64 hexadecimal digits"):
            use(bad)


def test_a_full_folder_refuses_and_says_what_to_do(store, saved, key, run):
    full = RunStore(store.folder, gigabytes=(saved.bytes - 1) / 1e9)
    with pytest.raises(InputError, match="delete some on the Runs page, or set SMFH_RUNS_GB"):
        full.save(run, Timing(0.0, {}, 0.0))
    assert full.find(key) is not None


def test_a_full_folder_is_a_trouble_until_there_is_room_again(store, saved, run, loaded):
    full = RunStore(store.folder, gigabytes=(saved.bytes - 1) / 1e9)
    assert full.trouble == ""
    find_or_train(full.by("ann"), SOURCE, replace(QUICK, seed=1), *loaded)
    assert "delete some on the Runs page" in full.trouble
    assert len(full.records()) == 1
    full.delete(saved.id)
    assert full.trouble == ""


def test_a_folder_that_cannot_be_written_is_a_trouble_until_it_can(store, saved, run, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("smfh.runs.store.write_npz", refuse)
        with pytest.raises(InputError, match="No space left"):
            store.save(run, Timing(0.0, {}, 0.0))
    store.check_room()  # which says nothing of the disk
    assert "No space left on device" in store.trouble
    store.save(run, Timing(0.0, {}, 0.0))
    assert store.trouble == ""


def test_the_limit_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_RUNS_GB", "0.25")
    assert RunStore(tmp_path).limit == 0.25e9
    for bad in ("lots", "nan", "-1", "inf"):
        monkeypatch.setenv("SMFH_RUNS_GB", bad)
        with pytest.raises(InputError, match="SMFH_RUNS_GB must be a number of gigabytes"):
            RunStore(tmp_path)


def test_what_killed_writers_left_is_cleared_before_the_next_run(store, saved):
    young, old = store.folder / ".smfh-00000000-1-young", store.folder / ".smfh-00000000-1-old"
    for file in (young, old):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    store.check_room()
    assert young.exists()
    assert not old.exists()


def test_times_in_the_future_change_nothing(store, saved, key, loaded):
    tomorrow = time.time() + 86_400
    for file in store.folder.iterdir():
        os.utime(file, (tomorrow, tomorrow))
    os.utime(store.folder, (tomorrow, tomorrow))
    fresh = RunStore(store.folder)
    assert fresh.find(key) == saved
    assert fresh.listing().damaged == ()
    find_or_keep(fresh, SOURCE, replace(QUICK, seed=1), *loaded)
    assert len(fresh.records()) == 2
    fresh.rename(saved.id, "tomorrow")
    assert fresh.get(saved.id).title == "tomorrow"


def test_what_is_no_file_among_the_runs_is_told_and_does_no_harm(store, saved, key):
    kinds = ("folder", "pipe", "loop", "link")
    names = {kind: f"{number}" * 64 + ".npz" for number, kind in enumerate(kinds)}
    (store.folder / names["folder"]).mkdir()
    os.mkfifo(store.folder / names["pipe"])
    (store.folder / names["loop"]).symlink_to(names["loop"])
    (store.folder / names["link"]).symlink_to("/nowhere")
    (store.folder / "notes.txt").write_text("mine")
    listing = store.listing()
    assert [run.id for run in listing.runs] == [saved.id]
    assert {file.id[0] for file in listing.damaged} == {"0", "1"}  # a link to nothing is nothing
    assert store.find(key) == saved


def test_a_folder_that_cannot_be_written_is_told(run, tmp_path):
    (tmp_path / "file").write_text("no folder")
    store = RunStore(tmp_path / "file" / "runs")
    with pytest.raises(InputError, match="folder of runs cannot be"):
        store.by("ann").save(run, Timing(0.0, {}, 0.0))


def change_header(path, change):
    arrays = read_npz(path)
    header = json.loads(arrays["run"].tobytes())
    change(header)
    write_npz(path, arrays | {"run": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda h: h.update(format="cat"), "It is a cat of version 3"),
        (lambda h: h.update(version=9), "version 9"),
        (lambda h: h.update(version="2"), "version 2"),
        (lambda h: h.update(dataset="atlantis"), "Unknown data set 'atlantis'"),
        (lambda h: h.update(dataset=["x"]), "Unknown data set"),
        (lambda h: h.update(method="md5"), "Unknown method 'md5'"),
        (lambda h: h["parameters"].update(bits=-1), "bits"),
        (lambda h: h["parameters"].update(seed=7), "renamed or changed"),
        (lambda h: h["options"].update(items="many"), "items"),
        (lambda h: h.pop("searches"), "searches"),
        (lambda h: h.update(searches=[{"search": ["text"]}]), "not one of a run"),
        (lambda h: h["searches"][0]["headline"].update(full=float("inf")), "finite"),
        (lambda h: h.update(queries=10**400), "numbers of items"),
        (lambda h: h.update(training_items=float("inf")), "numbers of items"),
        (lambda h: h["timing"].update(run=float("nan")), "finite"),
        (lambda h: h.update(when="yesterday"), "yesterday"),
        (lambda h: h.update(timing=3), "not one of a run"),
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


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_of_an_older_version_is_told_as_such(store, saved, key, version):
    change_header(store.folder / f"{saved.id}.npz", lambda h: h.update(version=version, timing=None))
    assert store.find(key) is None
    (file,) = store.listing().damaged
    assert file.older
    assert file.problem.startswith(f"{saved.method.name} on {saved.source.name}, made by an older version")


def test_damaged_foreign_and_strange_files_break_nothing(store, saved, key, run):
    folder = store.folder
    whole = (folder / f"{saved.id}.npz").read_bytes()
    (folder / f"{'a' * 64}.npz").write_bytes(whole)  # another's content
    (folder / f"{'b' * 64}.npz").write_bytes(b"")
    (folder / f"{'c' * 64}.npz").write_bytes(whole[: len(whole) // 2])
    (folder / f"{'d' * 64}.npz").mkdir()
    (folder / "notes.txt").write_text("hello")
    (folder / "..npz").write_text("hello")
    listing = RunStore(folder).listing()
    assert [record.id for record in listing.runs] == [saved.id]
    assert {damaged.id[0] for damaged in listing.damaged} == set("abcd")
    (folder / f"{saved.id}.npz").write_bytes(whole[:-100])
    assert store.find(key) is None
    store.save(run, Timing(0.0, {}, 0.0))  # trained again, it is whole again
    assert store.find(key) is not None


def test_what_a_forged_header_says_is_cut_before_it_is_told(store, saved):
    long = "x" * 100_000
    for forged in ({"format": long}, {"version": long}, {"timing": {long: 1}}, {"when": long}):
        path = store.folder / f"{saved.id}.npz"
        change_header(path, lambda header, forged=forged: header.update(forged))
        assert len(RunStore(store.folder).listing().damaged[0].problem) < 400


def test_headers_nested_beyond_reason_are_refused(store, saved, tmp_path):
    path = store.folder / f"{saved.id}.npz"
    deep = {
        "run": np.frombuffer(b"[" * 100_000, dtype=np.uint8),
        "header": np.frombuffer(b"[" * 100_000, dtype=np.uint8),
    }
    write_npz(path, deep)
    assert store.get(saved.id) is None
    assert "not one of a run" in store.listing().damaged[0].problem
    with pytest.raises(InputError, match="not a model"):
        load_hasher(path)


def test_damage_inside_is_noticed_when_it_is_read_and_then_told(store, saved, key, loaded, run):
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


def test_a_file_replaced_meanwhile_is_read_anew(store, saved, key, run):
    reader = RunStore(store.folder)
    assert reader.find(key).timing.run == 1.5
    store.save(run, Timing(0.0, {}, 99.0))
    assert reader.find(key).timing.run == 99.0


def test_a_found_run_is_the_run_and_is_not_trained_again(store, key, loaded):
    def never(step):
        raise AssertionError("trained again")

    first = find_or_train(store, SOURCE, QUICK, *loaded)
    assert [record.id for record in RunStore(store.folder).records()] == [key.id]  # at once
    again = find_or_train(store, SOURCE, QUICK, *loaded, never)
    for search in ready_searches(first.hasher.directions):
        same_scores(again.scores(*search), first.scores(*search))
    np.testing.assert_array_equal(again.answers("text", "image").rows, first.answers("text", "image").rows)
    assert find_or_keep(store, SOURCE, QUICK, *loaded, never).id == key.id


def test_a_run_is_there_where_it_cannot_be_kept(loaded, tmp_path):
    full_up = RunStore(tmp_path, gigabytes=0)
    assert find_or_train(full_up, SOURCE, QUICK, *loaded).scores("text", "image").queries == 15
    assert full_up.records() == []


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), MemoryError(), ValueError("x")])
def test_whatever_keeps_a_run_from_the_disk_it_is_there(store, loaded, monkeypatch, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr("smfh.runs.store.write_npz", refuse)
    assert find_or_train(store, SOURCE, QUICK, *loaded).scores("text", "image").queries == 15
    assert store.records() == []


def test_private_runs_leave_nothing_behind(store, loaded):
    run = find_or_train(store, SOURCE, QUICK, *loaded, owner="somebody")
    assert run.key.owner == "somebody"
    assert not store.folder.exists()


def keep_some(folder, seeds):
    """What one program does; runs in a process of its own too."""
    store, (data, split) = RunStore(folder), SOURCE.load()
    for seed in seeds:
        method = replace(QUICK, seed=seed)
        record = find_or_keep(store, SOURCE, method, data, split)
        if seed % 2:
            store.rename(record.id, f"seed {seed}")


@pytest.mark.slow
def test_two_processes_and_a_thread_lose_nothing_and_lock_nothing(store):
    spawn = multiprocessing.get_context("spawn")
    writers = [
        spawn.Process(target=keep_some, args=(store.folder, range(0, 8))),
        spawn.Process(target=keep_some, args=(store.folder, range(4, 12))),
        threading.Thread(target=keep_some, args=(store.folder, range(2, 10))),
    ]
    for writer in writers:
        writer.start()
    seen: set[str] = set()
    end = time.monotonic() + SOON
    while any(writer.is_alive() for writer in writers) and time.monotonic() < end:
        listing = store.listing()
        assert listing.damaged == ()
        now = {record.id for record in listing.runs}
        assert seen <= now  # what was there stays there
        seen = now
    for writer in writers:
        writer.join(SOON)
    assert [writer.exitcode for writer in writers[:2]] == [0, 0]
    records = RunStore(store.folder).records()
    assert sorted(record.method.seed for record in records) == list(range(12))
    assert all(
        record.title == (f"seed {record.method.seed}" if record.method.seed % 2 else "") for record in records
    )
    for record in records:
        assert store.scores(record, *SOURCE.load(), *TEXT_TO_IMAGE).queries == 15
    assert not [file for file in store.folder.iterdir() if file.name.startswith(".")]
