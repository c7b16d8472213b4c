"""Compiled functions use only names of their own file: Numba's cache does not notice changes in others."""

import ast
from pathlib import Path

import pytest

import smfh

PACKAGE = Path(smfh.__file__).parent
KERNELS = ["hamming/kernels.py", "hashing/kernels.py"]


@pytest.mark.parametrize("file", KERNELS)
def test_kernels_import_only_array_types_from_the_package(file):
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports if node.module.startswith("smfh") for alias in node.names}
    assert names <= {"FloatArray", "IntArray", "Words"}  # for annotations, which are never compiled


def test_nothing_else_is_compiled():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    compiling = {path.relative_to(PACKAGE).as_posix() for path, text in sources.items() if "njit" in text}
    assert compiling == set(KERNELS)
