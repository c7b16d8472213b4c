"""Runs that are kept: everything comes back, nothing half is ever seen, and bad files do no harm."""

import json
import multiprocessing
import os
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from smfh.comparison import kept_or_trained, time_encoding, train_and_keep
from smfh.datasets.planted import Planted
from smfh.files import read_npz, write_npz
from smfh.hashing import METHODS, SMFHPlus, load_hasher, make_method
from smfh.jobs import job_key
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.store import RunStore, Timing, run_id
from smfh.study import train_and_search
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(bits=8, iterations=2, rounds=1, anchors=20)
SOON = 60  # seconds after which a test that hangs fails


def ignore(step):
    """Nobody watches."""


@pytest.fixture(scope="module")
def loaded():
    return SOURCE.load()


@pytest.fixture(scope="module")
def trained(loaded):
    return train_and_search(QUICK, *loaded, ignore)


@pytest.fixture(scope="module")
def key(loaded):
    return job_key(loaded[0], QUICK, "", loaded[1])


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def saved(store, key, trained, loaded):
    return store.save(key, SOURCE, trained, Timing(time_encoding(trained.hasher, *loaded), 1.5))


def test_a_run_comes_back_as_it_was(store, saved, key, trained):
    fresh = RunStore(store.folder)
    run = fresh.find(key)
    assert run.record == saved
    assert run.record.source == SOURCE
    assert run.record.method == QUICK
    assert run.record.seconds == trained.hasher.seconds
    assert run.record.timing.encoding.keys() == {"image", "text"}
    assert run.record.trained_on == trained.hasher.trained_on
    assert (run.record.training_items, run.record.queries) == (45, 15)
    for modality, codes in trained.hasher.database_codes.items():
        np.testing.assert_array_equal(run.hasher.database_codes[modality], codes)
    assert [step.terms for step in run.hasher.trace] == [step.terms for step in trained.hasher.trace]


@pytest.mark.parametrize("definition", [*AP_DEFINITIONS.values(), APDefinition(5, "capped")])
def test_any_definition_is_scored_from_what_was_kept(store, saved, key, trained, loaded, definition):
    from smfh.evaluation import evaluate

    run = store.find(key)
    for source, target, protocol in trained.results:
        result = evaluate(trained.hasher, *loaded, source, target, protocol, definition)
        again = run.result(source, target, protocol, definition)
        assert again.scores == result.scores
        for curve in ("average_precision", "precision_curve", "recall_curve"):
            np.testing.assert_array_equal(getattr(again, curve), getattr(result, curve))
        judged = run.judged(source, target, protocol, definition)
        assert judged.scores == result.scores
        assert run.judged(source, target, protocol, definition) is judged
    assert saved.scores[("text", "image", "training")] == pytest.approx(
        trained.results["text", "image", "training"].scores.mean_average_precision
    )


def test_a_score_that_was_not_kept_is_refused_with_what_there_is(store, saved, key):
    with pytest.raises(
        InputError, match=r"Unknown search 'text smell training'; there are .*text image training"
    ):
        store.find(key).result("text", "smell", "training")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_kept(store, loaded, name):
    method = make_method(name, bits=4)
    record = train_and_keep(store, SOURCE, job_key(loaded[0], method, "", loaded[1]), *loaded, ignore)
    assert record.method == method
    assert store.model(record.id).method == method


def test_the_same_identity_is_the_same_name_everywhere(key, loaded):
    assert run_id(key) == run_id(replace(key, method=SMFHPlus(**vars(QUICK))))
    assert run_id(key) == run_id(replace(key, method=replace(QUICK, bits=np.int64(8))))
    assert run_id(replace(key, method=replace(QUICK, graph_weight=2))) == run_id(
        replace(key, method=replace(QUICK, graph_weight=2.0))
    )
    others = [
        replace(QUICK, seed=1),
        replace(QUICK, bits=9),
        replace(QUICK, graph_weight=1.0),
        make_method("cvh"),
    ]
    names = {run_id(replace(key, method=method)) for method in others} | {run_id(replace(key, split="x"))}
    assert len(names - {run_id(key)}) == 5


def test_own_data_is_never_kept(store, key, trained):
    private = replace(key, owner="somebody")
    with pytest.raises(InputError, match="not kept on disk"):
        store.save(private, SOURCE, trained, Timing({}, 0.0))
    assert not store.folder.exists()
    assert store.find(private) is None


def test_a_model_file_of_a_run_is_a_model_file(store, saved, trained, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(store.model_file(saved.id))
    for content in (path, path.read_bytes()):
        hasher = load_hasher(content)
        assert hasher.method == QUICK
        np.testing.assert_array_equal(hasher.database_codes["text"], trained.hasher.database_codes["text"])


def test_titles_are_given_changed_and_taken_away(store, saved):
    store.rename(saved.id, "  my\n\x00 best  run ")
    assert RunStore(store.folder).get(saved.id).record.title == "my best run"
    store.rename(saved.id, "")
    assert store.get(saved.id).record.title == ""
    with pytest.raises(InputError, match="at most 80 characters; this one has 81"):
        store.rename(saved.id, "x" * 81)


def test_deleting_removes_all_of_a_run(store, saved, key):
    store.rename(saved.id, "title")
    store.delete(saved.id)
    store.delete(saved.id)
    assert store.find(key) is None
    assert list(store.folder.iterdir()) == []
    with pytest.raises(InputError, match="deleted or is damaged"):
        store.model(saved.id)


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "a" * 63, "A" * 64, "a" * 64 + "/../x"])
def test_only_ids_become_file_names(store, bad):
    for use in (store.get, store.delete, store.model, partial(store.rename, title="x")):
        with pytest.raises(InputError, match="64 hexadecimal digits"):
            use(bad)


def test_a_full_folder_refuses_and_says_what_to_do(store, saved, key, trained):
    full = RunStore(store.folder, gigabytes=(saved.bytes - 1) / 1e9)
    with pytest.raises(InputError, match="delete some on the Runs page, or set SMFH_RUNS_GB"):
        full.save(key, SOURCE, trained, Timing({}, 0.0))
    assert full.find(key) is not None


def test_the_limit_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_RUNS_GB", "0.25")
    assert RunStore(tmp_path).limit == 0.25e9
    for bad in ("lots", "nan", "-1", "inf"):
        monkeypatch.setenv("SMFH_RUNS_GB", bad)
        with pytest.raises(InputError, match="SMFH_RUNS_GB must be a number of gigabytes"):
            RunStore(tmp_path)


def test_what_killed_writers_left_is_swept_when_it_is_old(store, saved):
    young, old = store.folder / ".a.npz.young", store.folder / ".a.npz.old"
    for file in (young, old):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    store.check_room()
    assert young.exists()
    assert not old.exists()


def test_a_folder_that_cannot_be_written_is_told(key, trained, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match="folder of runs cannot be"):
        RunStore(tmp_path / "file" / "runs").save(key, SOURCE, trained, Timing({}, 0.0))


def change_header(path, change):
    arrays = read_npz(path)
    header = json.loads(arrays["run"].tobytes())
    change(header)
    write_npz(path, arrays | {"run": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda h: h.update(format="cat"), "It is a cat of version 1"),
        (lambda h: h.update(version=9), "version 9"),
        (lambda h: h.update(dataset="atlantis"), "Unknown data set 'atlantis'"),
        (lambda h: h.update(dataset=["x"]), "not one of a run"),
        (lambda h: h.update(method="md5"), "Unknown method 'md5'"),
        (lambda h: h["parameters"].update(bits=-1), "bits"),
        (lambda h: h["parameters"].update(seed=7), "renamed or changed"),
        (lambda h: h["options"].update(items="many"), "items"),
        (lambda h: h.pop("scores"), "scores"),
        (lambda h: h.update(scores=[["text"]]), "not one of a run"),
        (lambda h: h.update(when="yesterday"), "yesterday"),
        (lambda h: h.update(timing=3), "not one of a run"),
    ],
)
def test_a_changed_header_is_listed_as_damaged_and_not_found(store, saved, key, change, problem):
    change_header(store.folder / f"{saved.id}.npz", change)
    for reader in (store, RunStore(store.folder)):
        assert reader.find(key) is None
        (damaged,) = reader.listing().damaged
        assert problem in damaged.problem
        assert reader.records() == []


def test_damaged_foreign_and_strange_files_break_nothing(store, saved, key, trained):
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
    store.save(key, SOURCE, trained, Timing({}, 0.0))  # trained again, it is whole again
    assert store.find(key) is not None


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


def test_damage_inside_is_noticed_when_it_is_read_and_then_told(store, saved, key, loaded, trained):
    path = store.folder / f"{saved.id}.npz"
    arrays = read_npz(path)
    write_npz(path, arrays | {"judged.0.counts": arrays["judged.0.counts"][:-1]})
    run = store.find(key)
    with pytest.raises(InputError, match="counts should be"):
        run.judged(*next(iter(trained.results)))
    assert store.find(key) is None
    assert "counts should be" in store.listing().damaged[0].problem
    again = kept_or_trained(store, SOURCE, QUICK, *loaded, ignore)
    assert again.results.keys() == trained.results.keys()


def test_a_file_replaced_meanwhile_is_read_anew(store, saved, key, trained):
    reader = RunStore(store.folder)
    assert reader.find(key).record.timing.whole == 1.5
    store.save(key, SOURCE, trained, Timing({}, 99.0))
    assert reader.find(key).record.timing.whole == 99.0


def keep_some(folder, seeds):
    """What one program does; runs in a process of its own too."""
    store, (data, split) = RunStore(folder), SOURCE.load()
    for seed in seeds:
        method = replace(QUICK, seed=seed)
        train_and_keep(store, SOURCE, job_key(data, method, "", split), data, split, ignore)
        if seed % 2:
            store.rename(run_id(job_key(data, method, "", split)), f"seed {seed}")


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
        assert store.get(record.id).judged("text", "image").scores.queries == 15
    assert not [file for file in store.folder.iterdir() if file.name.startswith(".")]
