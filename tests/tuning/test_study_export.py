"""A study as a file: made in memory, as somebody's own data was promised."""

import sqlite3
import tempfile
from contextlib import closing

import pytest

from smfh.datasets import Planted
from smfh.tuning import Studies, study_file


@pytest.mark.parametrize("is_private", [True, False])
def test_the_file_of_a_study_never_comes_to_a_disk_here(
    make_plan, studies, tmp_path, monkeypatch, is_private
):
    source = Planted(items=80)
    study = (Studies(own=source, owner="ann") if is_private else studies).create(make_plan(sources=(source,)))
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    content = study_file(study)
    assert set(tmp_path.iterdir()) <= before | {tmp_path / f"studies.db-{end}" for end in ("shm", "wal")}
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        assert database.execute("SELECT study_name FROM studies").fetchall() == [("small",)]
        assert database.execute("SELECT count(*) FROM trials").fetchall() == [(6,)]
