"""The README and the guide: Python blocks run, links lead somewhere, packaging is consistent."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import smfh

ROOT = Path(smfh.__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "assets" / "guide").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL))
]
MAX_README_LINES = 180
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_code_block_runs(block, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    command, environment = ([sys.executable, "-W", "error", str(script)], {**os.environ, "PYTHONPATH": str(ROOT)})
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_local_links_exist(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_readme_is_short_and_links_every_guide_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= MAX_README_LINES
    assert [page.name for page in PAGES[1:] if f"assets/guide/{page.name}" not in readme] == []


def test_version_has_one_source():
    assert smfh.__version__ == PROJECT["version"]
    assert PROJECT["scripts"]["smfh"] == "smfh.__main__:main"


def test_requirements_are_the_dependencies_and_the_test_tools():
    expected = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert (ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n") == [*expected, ""]


def test_every_imported_package_is_declared():
    """The packages of extras are imported inside functions only, and declared there."""
    distributions = {"PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image"}
    declared = {re.split("[<>=]", line)[0] for line in (ROOT / "requirements.txt").read_text().split()}
    undeclared = set()
    for file in [*(ROOT / "smfh").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "streamlit_app.py"]:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for top in {name.split(".")[0] for name in names} - {"smfh", *sys.stdlib_module_names}:
                if distributions.get(top, top) not in declared:
                    undeclared.add((top, str(file.relative_to(ROOT))))
    assert undeclared == set()


def test_tables_are_those_that_the_guide_command_writes():
    from smfh.commands.guide import FILES, MARKED, read_measured, with_tables

    measured = read_measured()
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert MARKED.search(text), f"{name} has no table"
        assert with_tables(text, measured) == text, f"python -m smfh guide writes other tables into {name}"
