"""The code beside the equations is that of the reference; notebook and script give the page's numbers."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smfh.lessons.example import default_rows, make_example
from smfh.lessons.notebook import make_notebook, make_script, step_code
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_NAMES, walk_through

SETTINGS = [{}, {"graph_sample": 12, "bits": 6, "graph_weight": 5.0, "seed": 3}]


@pytest.fixture(scope="module")
def example(emoji):
    return make_example(emoji, default_rows(emoji))


def run_cells(notebook: str) -> dict:
    """Execute the code cells in order, as a notebook does."""
    names: dict = {}
    for cell in json.loads(notebook)["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102, our own text
    return names


@pytest.mark.parametrize("changed", SETTINGS)
def test_the_notebook_gives_the_numbers_of_the_walkthrough(example, changed, capsys):
    walkthrough = walk_through(example, replace(DEFAULT_METHOD, **changed))
    found, last = run_cells(make_notebook(walkthrough, query=2)), walkthrough.steps[-1].after
    np.testing.assert_allclose(found["Y"], last.Y, rtol=1e-9)
    for t, W in last.W.items():
        np.testing.assert_allclose(found["W"][t], W, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found["codes"], last.matrices["code", ""])
    np.testing.assert_array_equal(np.sort(found["distances"]), last.rank("text", 2)[1])


def test_a_notebook_with_another_number_is_noticed(example, capsys):
    notebook = make_notebook(walk_through(example, DEFAULT_METHOD))
    with pytest.raises(AssertionError, match="Not equal"):
        run_cells(notebook.replace("α=1.0", "α=1.5"))


@pytest.fixture
def only_numpy(tmp_path) -> Callable[[str], str]:
    """Run a program in a Python that has NumPy and the standard library alone; return what it prints."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for folder in Path(np.__file__).parents[1].glob("numpy*"):
        (packages / folder.name).symlink_to(folder)

    def run(program: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(program, encoding="utf-8")
        start = f"import runpy, sys; sys.path.append({str(packages)!r}); runpy.run_path({str(file)!r})"
        command = [sys.executable, "-I", "-S", "-c", start]  # without site-packages
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    with pytest.raises(subprocess.CalledProcessError):
        run("import scipy")
    return run


def test_script_and_notebook_need_only_numpy(example, only_numpy):
    walkthrough = walk_through(example, DEFAULT_METHOD)
    cells = json.loads(make_notebook(walkthrough))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code"] * 5
    assert cells[0]["source"][0] == "# SMFH on a small example\n"
    notebook = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for program in (make_script(walkthrough), notebook):
        printed = only_numpy(program)
        assert "The numbers equal those of the page." in printed
        assert "cat face" in printed


def test_captions_of_any_kind_stay_data(example):
    hostile = ['"""', "'); raise SystemExit(1)  #", "a\nb", "{names}", "\\", "'", "%s", "“”", "🐸"]
    strange = replace(example, data=replace(example.data, captions=tuple(hostile)))
    assert run_cells(make_notebook(walk_through(strange, DEFAULT_METHOD)))["names"] == hostile
    exec(make_script(walk_through(strange, DEFAULT_METHOD)), {})  # noqa: S102


def test_every_step_has_its_own_lines_of_code():
    codes = [step_code(name) for name in STEP_NAMES]
    assert all(code.startswith("# ") for code in codes)
    for variable, code in zip(("U[t] =", "A, D =", "divisor", "heights", "W[t] ="), codes, strict=True):
        assert variable in code
        assert sum(variable in other for other in codes) == 1
