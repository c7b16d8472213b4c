"""paper --check: what it passes on, and what it refuses instead of ignoring it."""

from contextlib import contextmanager

import pytest

from smfh.__main__ import main
from smfh.commands import options
from smfh.commands import paper as command
from smfh.jobs import here
from smfh.paper import reference

QUICK = ["--datasets", "planted", "--methods", "cvh", "--bits", "8", "--seeds", "2"]


@pytest.fixture(autouse=True)
def own_reference(monkeypatch, tmp_path):
    """Kept scores of one's own."""
    path = tmp_path / "kept.json"
    for name in ("read_reference", "write_reference"):
        real = getattr(reference, name)
        monkeypatch.setattr(command, name, lambda *given, real=real: real(*given, path))
    return path


@pytest.mark.parametrize("purpose", ["--check", "--write-reference"])
@pytest.mark.parametrize(
    "ignored", [["--split", "random"], ["--split-seed", "3"], ["--json"], ["--csv"]], ids=" ".join
)
def test_what_a_check_cannot_heed_is_refused_by_name(capsys, own_reference, purpose, ignored):
    assert main(["paper", purpose, *QUICK, *ignored]) == 2
    told = capsys.readouterr().err
    assert f"{ignored[0]} is not for --check and --write-reference" in told
    assert not own_reference.exists()


def test_lengths_are_refused_where_the_tables_have_their_own(capsys):
    assert main(["paper", "--datasets", "planted", "--bits", "8"]) == 2
    assert (
        "--bits is for --check and --write-reference; the tables have 32, 64, 128" in capsys.readouterr().err
    )


def test_the_trainings_of_a_check_go_to_the_cluster_that_is_named(monkeypatch):
    called = []

    def elsewhere(function, *arguments, **callbacks):
        called.append(function)
        return here(function, *arguments, **callbacks)

    @contextmanager
    def chosen_call(arguments):
        assert arguments.cluster == "tcp://127.0.0.1:8786"
        yield elsewhere, 2

    monkeypatch.setattr(options, "chosen_call", chosen_call)
    cluster = ["--cluster", "tcp://127.0.0.1:8786"]
    assert main(["paper", "--write-reference", *QUICK, *cluster]) == 0
    assert (calls := len(called)) >= 2  # a seed each
    assert main(["paper", "--check", *QUICK, *cluster]) == 0
    assert len(called) == 2 * calls
