"""Folders and environment variables of the program."""

import os
from pathlib import Path

import pytest

from smfh import folders
from smfh.folders import OLD_NAMES, cache_folder, data_folders, read_number, read_variable
from smfh.types import InputError


@pytest.mark.skipif(os.name == "nt", reason="Windows does not use the XDG folders")
def test_the_cache_is_in_the_users_cache_folder_unless_set(tmp_path, monkeypatch):
    monkeypatch.delenv("SMFH_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "smfh"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "smfh"
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen"


def test_an_account_without_a_home_folder_gets_a_temporary_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("SMFH_CACHE", raising=False)
    monkeypatch.setattr(folders, "user_cache_path", lambda *_, **__: Path("~/.cache/smfh"))
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path


def test_data_is_searched_in_the_chosen_folder_and_then_in_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("SMFH_DATA", "chosen")
    assert data_folders() == [Path("chosen"), tmp_path / "smfh"]
    monkeypatch.delenv("SMFH_DATA")
    assert data_folders() == [tmp_path / "smfh"]


@pytest.mark.parametrize(("name", "old_name"), OLD_NAMES.items())
def test_an_old_name_still_works(monkeypatch, name, old_name):
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(old_name, "3")
    assert read_variable(name) == "3"
    monkeypatch.setenv(name, "4")
    assert read_variable(name) == "4"


def test_numbers_are_checked(monkeypatch):
    monkeypatch.delenv("SMFH_RUNS_GB", raising=False)
    assert read_number("SMFH_RUNS_GB", 5.0) == 5.0
    for text in ("many", "-1", "nan", "inf", "0"):
        monkeypatch.setenv("SMFH_RUNS_GB", text)
        with pytest.raises(InputError, match="SMFH_RUNS_GB must be a number above 0; got"):
            read_number("SMFH_RUNS_GB", 5.0)
    assert read_number("SMFH_RUNS_GB", 5.0, allow_zero=True) == 0
