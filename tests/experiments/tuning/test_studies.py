"""Studies in their database: created, continued, listed, renamed, deleted; databases that cannot be used."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import optuna
import pytest

from smfh.datasets import Planted
from smfh.datasets.user_data import UserDataset
from smfh.experiments.tuning import Goal, Studies, storage, study, tune
from smfh.experiments.tuning.storage import hide_password
from smfh.experiments.tuning.study import PLAN, VERSION
from smfh.experiments.tuning.trials import take_trial
from smfh.types import InputError


def test_a_study_outlives_the_program_that_created_it(studies, address, make_plan):
    made = studies.create(make_plan())
    tune(made)
    again = Studies(address).open("small")
    assert (again.plan, again.trials, again.best) == (made.plan, made.trials, made.best)
    assert [trial.number for trial in again.trials] == list(range(6))
    assert again.best.values[0] == max(t.values[0] for t in again.trials if t.state == "complete")


def test_a_study_is_found_by_its_plan_whatever_its_name(studies, make_plan):
    made = studies.create(make_plan(name="small (2)"))
    assert studies.find(make_plan(name="other")).name == made.name
    assert studies.find(make_plan(folds=3)) is None
    studies.create(make_plan(name="small"))
    assert studies.find(make_plan(name="small")).name == "small"  # the one of this name first
    made.optuna.set_user_attr(VERSION, 99)
    studies.delete("small")
    assert studies.find(make_plan(name="small")) is None


def test_reading_creates_no_database(studies, tmp_path):
    assert studies.names() == studies.records() == []
    with pytest.raises(InputError, match="There is no study 'small'; there are none"):
        studies.open("small")
    assert list(tmp_path.iterdir()) == []


def test_continuing_needs_the_same_plan_except_its_budget(studies, make_plan):
    made = studies.join(make_plan(trials=2))
    assert studies.join(make_plan(trials=2)).trials == made.trials
    assert len(studies.join(make_plan(trials=5)).trials) == 5
    assert len(studies.join(make_plan(trials=5)).trials) == 5
    assert studies.open("small").plan.trials == 5
    with pytest.raises(InputError) as caught:
        studies.join(make_plan(folds=3, goal=Goal("full")))
    assert caught.value.problems[1] == "Its folds is 2, not 3."
    assert len(caught.value.problems) == 3
    with pytest.raises(InputError, match="There is already a study named 'small'"):
        studies.create(make_plan())


def test_studies_can_be_renamed_and_deleted(studies, make_plan):
    made = studies.create(make_plan(trials=3))
    tune(made)
    before = made.trials
    studies.create(make_plan(name="other"))
    after = studies.rename("small", "  α, of all things  ")
    assert after.name == after.plan.name == "α, of all things"
    assert after.trials == before
    assert studies.names() == ["α, of all things", "other"]
    with pytest.raises(InputError, match="There is already a study named 'other'"):
        studies.rename("α, of all things", "other")
    with pytest.raises(InputError, match="name needs 1 to 80"):
        studies.rename("other", "two\nlines")
    studies.delete("other")
    studies.delete("other")
    with pytest.raises(InputError, match="There is no study 'other'; there are α, of all things"):
        studies.open("other")


def test_a_study_of_another_version_is_read_only(studies, make_plan):
    made = studies.create(make_plan(trials=2))
    tune(made)
    assert studies.open("small").is_current
    made.optuna.set_user_attr(VERSION, 99)
    other = studies.open("small")
    assert not other.is_current
    assert len(other.trials) == 2
    with pytest.raises(
        InputError, match="was created with a different version of SMFH, which produces different codes"
    ):
        tune(other)


def test_a_study_whose_plan_cannot_be_read_is_listed_with_the_reason(studies, make_plan):
    plan = json.loads(make_plan().to_json())
    plan["method"]["name"] = "smfh-2030"
    studies.create(make_plan()).optuna.set_user_attr(PLAN, json.dumps(plan))
    (record,) = studies.records()
    assert record.plan is None
    assert "Unknown method 'smfh-2030'" in record.problem


def test_trials_on_changed_data_are_refused(studies, make_plan):
    tune(studies.create(make_plan(trials=2)))
    changed = studies.join(make_plan(trials=3))
    changed.plan = replace(changed.plan, sources=(Planted(items=81),))
    with pytest.raises(InputError, match="The data changed since the study 'small' began"):
        tune(changed)


def test_other_studies_in_the_database_are_ignored(studies, make_plan):
    optuna.create_study(study_name="theirs", storage=studies.storage)
    studies.create(make_plan())
    assert studies.names() == ["small"]
    with pytest.raises(InputError, match="There is no study 'theirs'"):
        studies.open("theirs")


def test_a_half_created_study_is_created_again(studies, make_plan, monkeypatch):
    monkeypatch.setattr(study, "CREATION_TIMEOUT_SECONDS", 0.2)
    half = optuna.create_study(study_name="small", storage=studies.storage)
    half.set_user_attr(PLAN, make_plan().to_json())
    half.enqueue_trial({"graph_weight": 2.0})
    with pytest.raises(InputError, match="There is no study 'small'"):
        studies.open("small")
    assert len(studies.join(make_plan()).trials) == 6


def test_studies_of_uploads_exist_in_memory_only(make_plan, tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(60))
    upload = UserDataset(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "own.csv")
    private = Studies(upload=upload)
    made = private.create(make_plan(sources=(upload,), trials=2))
    tune(made)
    assert private.open("small").best == made.best
    assert list(tmp_path.iterdir()) == []
    assert Studies(upload=upload).names() == []


def test_addresses_are_checked_and_shown_without_password():
    for address in ("", "redis://x", "studies.db", "folder/x.db", "sqlite", "a:b:c://"):
        with pytest.raises(InputError, match="The address of a study database must look like"):
            hide_password(address)
    assert hide_password("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"


def test_a_file_that_is_not_a_database_is_not_changed(tmp_path):
    path = tmp_path / "studies.db"
    path.write_bytes(b"a letter to a friend" * 100)
    with pytest.raises(InputError, match="the file is not a database"):
        Studies(f"sqlite:///{path}").names()
    assert path.read_bytes() == b"a letter to a friend" * 100


def test_a_locked_database_is_reported_and_can_be_read(make_plan, address, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "LOCK_TIMEOUT_SECONDS", 0.1)
    studies = Studies(address)
    made = studies.create(make_plan(trials=2))
    with closing(sqlite3.connect(tmp_path / "studies.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        assert studies.records()[0].trials == 2  # readers do not wait for a writer
        with pytest.raises(InputError, match="another program has locked them"):
            studies.create(make_plan(name="second"))
        with pytest.raises(InputError, match="another program has locked them"):
            tune(made)
        other.rollback()
    assert tune(made).done == 2


def test_missing_folders_and_drivers_are_reported(tmp_path, make_plan):
    with pytest.raises(InputError, match="cannot be opened or created"):
        Studies(f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}").create(make_plan())
    with pytest.raises(InputError, match="driver for postgresql://host/db is not installed"):
        Studies("postgresql://host/db").names()


def test_a_study_deleted_by_someone_else_is_reported(studies, make_plan):
    made = studies.create(make_plan())
    studies.delete("small")
    with pytest.raises(InputError, match="the study was deleted"):
        tune(made)


@pytest.mark.parametrize("change", ["studies SET study_name", "trial_user_attributes SET value_json"])
def test_text_that_is_not_utf_8_is_an_error_in_words(studies, address, make_plan, tmp_path, change):
    tune(studies.create(make_plan(trials=2)))
    with closing(sqlite3.connect(tmp_path / "studies.db")) as database:
        assert database.execute(f"UPDATE {change} = CAST(x'22ff22' AS TEXT)").rowcount > 0
        database.commit()
    try:
        message = " ".join(one.problem for one in Studies(address).records())
    except InputError as error:
        message = str(error)
    assert "not UTF-8" in message
    assert str(tmp_path) not in message


def test_a_study_with_a_running_trial_cannot_be_renamed(studies, make_plan):
    with take_trial(studies.create(make_plan())):
        with pytest.raises(InputError, match="A trial of the study 'small' is running"):
            studies.rename("small", "other")
        assert studies.names() == ["small"]
