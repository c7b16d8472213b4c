"""Studies in their storage: made, joined, listed, renamed, deleted; and storages that cannot be used."""

import json
import sqlite3
from contextlib import closing

import optuna
import pytest
from sqlalchemy import event

from smfh.datasets import Planted
from smfh.datasets.own import OwnData
from smfh.tuning import Goal, Studies, storage, tune
from smfh.tuning import studies as studies_module
from smfh.tuning.storage import shown_address, usual_address
from smfh.tuning.study import BEHAVIOUR, PLAN
from smfh.types import InputError


def test_a_study_outlives_the_program_that_made_it(studies, address, make_plan):
    made = studies.create(make_plan())
    tune(made)
    again = Studies(address).open("small")
    assert again.plan == made.plan
    assert again.trials == made.trials
    assert again.best == made.best
    assert [trial.number for trial in again.trials] == list(range(6))
    assert again.best.values[0] == max(t.values[0] for t in again.trials if t.state == "complete")


def test_what_a_list_tells(studies, make_plan):
    studies.create(make_plan(name="first"))
    tune(studies.create(make_plan(name="second", trials=2)))
    second, first = studies.records()
    assert (second.name, second.done, second.total, second.running) == ("second", 2, 2, 0)
    assert (first.name, first.done, first.total, first.best) == ("first", 0, 6, None)
    assert second.best is not None
    assert second.seconds > 0
    assert first.begun is None


def test_joining_needs_the_same_plan_save_its_budget(studies, make_plan):
    made = studies.join(make_plan(trials=2))
    assert studies.join(make_plan(trials=2)).trials == made.trials
    assert len(studies.join(make_plan(trials=5)).trials) == 5
    assert len(studies.join(make_plan(trials=5)).trials) == 5
    assert studies.open("small").plan.trials == 5
    with pytest.raises(InputError) as caught:
        studies.join(make_plan(folds=3, goal=Goal("full")))
    assert caught.value.problems[1:] == (
        "Its folds is 2, not 3.",
        "Its goal is {'measure': 'balanced', 'over': 'mean'}, not {'measure': 'full', 'over': 'mean'}.",
    )
    with pytest.raises(InputError, match="There is a study 'small' already"):
        studies.create(make_plan())


def test_a_sweep_has_no_budget(studies, make_plan):
    study = studies.create(make_plan(way="sweep"))
    assert studies.join(make_plan(way="sweep", trials=99)).trials == study.trials
    with pytest.raises(InputError, match="'small' is a sweep: it has its points, and no budget"):
        study.set_budget(99)
    assert len(study.trials) == len(study.plan.points)


def test_renamed_and_deleted(studies, make_plan):
    study = studies.create(make_plan(trials=3))
    tune(study)
    before = study.trials
    studies.create(make_plan(name="other"))
    after = studies.rename("small", "  α, of all things  ")
    assert after.name == after.plan.name == "α, of all things"
    assert after.trials == before
    assert studies.names() == ["α, of all things", "other"]
    with pytest.raises(InputError, match="There is a study 'other' already"):
        studies.rename("α, of all things", "other")
    with pytest.raises(InputError, match="name has from 1 to 80"):
        studies.rename("other", "two\nlines")
    studies.delete("other")
    studies.delete("other")
    with pytest.raises(InputError, match="There is no study 'other'; there are α, of all things"):
        studies.open("other")


def test_a_study_with_a_trial_at_work_keeps_its_name(studies, make_plan):
    study = studies.create(make_plan())
    storage.claim(study.optuna, study.storage)
    with pytest.raises(InputError, match="Somebody works on the study 'small'"):
        studies.rename("small", "other")
    assert studies.names() == ["small"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "'; DROP TABLE studies; --", "=1+1", "日本", "a" * 80])
def test_a_name_is_only_a_name(studies, make_plan, tmp_path, name):
    studies.create(make_plan(name=name))
    assert studies.names() == [name]
    assert {path.name for path in tmp_path.iterdir()} <= {"studies.db", "studies.db-wal", "studies.db-shm"}


def test_the_study_of_another_version_can_be_looked_at_but_not_added_to(studies, make_plan):
    study = studies.create(make_plan(trials=2))
    tune(study)
    study.optuna.set_user_attr(BEHAVIOUR, "another")
    other = studies.open("small")
    assert not other.is_current
    assert len(other.trials) == 2
    with pytest.raises(InputError, match="was made by another version, whose SMFH gives other codes"):
        tune(other)


def test_a_study_whose_plan_cannot_be_read_is_listed_with_the_reason(studies, make_plan):
    plan = json.loads(make_plan().to_json())
    plan["method"]["name"] = "smfh-2030"
    studies.create(make_plan()).optuna.set_user_attr(PLAN, json.dumps(plan))
    (record,) = studies.records()
    assert record.plan is None
    assert "Unknown method 'smfh-2030'" in record.problem


def test_other_data_under_the_same_name_is_not_mixed_in(studies, make_plan):
    study = studies.create(make_plan(trials=2))
    tune(study)
    study.optuna.set_user_attr("data", ["otherwise"])
    with pytest.raises(InputError, match="The data is not what the study 'small' began with"):
        tune(studies.join(make_plan(trials=3)))


def test_studies_of_others_in_the_same_storage_are_left_alone(studies, make_plan):
    optuna.create_study(study_name="theirs", storage=studies.storage)
    studies.create(make_plan())
    assert studies.names() == ["small"]
    with pytest.raises(InputError, match="There is no study 'theirs'"):
        studies.open("theirs")


def test_a_study_whose_maker_was_killed_is_made_anew(studies, make_plan, monkeypatch):
    monkeypatch.setattr(studies_module, "MADE_WITHIN", 0.2)
    half = optuna.create_study(study_name="small", storage=studies.storage)
    half.set_user_attr(PLAN, make_plan().to_json())
    half.enqueue_trial({"graph_weight": 2.0})
    with pytest.raises(InputError, match="There is no study 'small'"):
        studies.open("small")
    assert len(studies.join(make_plan()).trials) == 6


def test_own_data_is_studied_in_memory_alone(make_plan, tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    data, _ = Planted(items=60).load()
    columns = [f"{name}:{k}" for name, X in data.modalities.items() for k in range(X.shape[1])]
    lines = [",".join([*columns, "labels"])]
    for row in range(60):
        cells = [f"{x:.4f}" for X in data.modalities.values() for x in X[row]]
        lines.append(",".join([*cells, str(data.labels[row].argmax())]))
    own = OwnData(content="\n".join(lines).encode(), file_name="own.csv")
    private = Studies(own=own, owner="somebody")
    study = private.create(make_plan(sources=(own,), trials=2))
    tune(study)
    assert private.open("small").best == study.best
    assert study.key.owner == "somebody"
    assert list(tmp_path.iterdir()) == []
    assert Studies(own=own).names() == []


# storages that cannot be used


def test_the_address_is_of_a_kind_that_is_known():
    for address in ("", "redis://x", "studies.db", "folder/x.db", "sqlite", "a:b:c://"):
        with pytest.raises(InputError, match="kept at an address such as"):
            shown_address(address)
    assert shown_address("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"


def test_the_address_can_be_set_for_the_whole_program(monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    assert usual_address() == f"sqlite:///{tmp_path / 'studies.db'}"
    monkeypatch.setenv("SMFH_STUDIES", "postgresql://host/db")
    assert usual_address() == "postgresql://host/db"


def test_readers_need_not_wait_for_a_writer(studies, tmp_path):
    with closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_that_is_no_database_is_not_touched(tmp_path):
    path = tmp_path / "studies.db"
    path.write_bytes(b"a letter to a friend" * 100)
    with pytest.raises(InputError, match="the file is no database"):
        Studies(f"sqlite:///{path}")
    assert path.read_bytes() == b"a letter to a friend" * 100


def test_a_damaged_database_is_said_to_be_so(studies, address, make_plan, tmp_path):
    tune(studies.create(make_plan(trials=3)))
    studies.storage.engine.dispose()
    path = tmp_path / "studies.db"
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|no database"):
        Studies(address).records()


def test_a_locked_database_is_said_to_be_so_and_nothing_is_lost(make_plan, address, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "PATIENCE", 0.1)
    studies = Studies(address)
    study = studies.create(make_plan(trials=2))
    with closing(sqlite3.connect(tmp_path / "studies.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="another program holds them for long"):
            studies.create(make_plan(name="second"))
        with pytest.raises(InputError, match="another program holds them for long"):
            tune(study)
        other.rollback()
    assert tune(study).done == 2


def test_a_full_disk_is_said_to_be_so_and_what_is_finished_is_kept(studies, make_plan, address):
    tune(studies.create(make_plan(trials=3)))
    before = studies.open("small").trials
    engine = studies.storage.engine

    def allow_no_more_pages(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")

    engine.dispose()
    event.listen(engine, "connect", allow_no_more_pages)
    with pytest.raises(InputError, match="the disk is full"):
        studies.create(make_plan(name="large", trials=500))
    assert Studies(address).open("small").trials == before


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be opened or made"):
        Studies(f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}")


def test_a_storage_of_another_optuna_is_said_to_be_so(studies, address, tmp_path):
    with closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        connection.execute("UPDATE version_info SET schema_version = 3")
        connection.execute("UPDATE alembic_version SET version_num = 'v0.9.0.a'")
        connection.commit()
    with pytest.raises(InputError, match="written by another version of Optuna"):
        Studies(address)


def test_a_missing_driver_is_named():
    with pytest.raises(InputError, match="driver for postgresql://host/db is not installed"):
        Studies("postgresql://host/db")


def test_a_study_deleted_meanwhile_is_said_to_be_so(studies, make_plan):
    study = studies.create(make_plan())
    studies.delete("small")
    with pytest.raises(InputError, match="the study was deleted"):
        tune(study)
