"""What is compiled stands in its own file: Numba's cache would not see a change in another one."""

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

import smfh

PACKAGE = Path(smfh.__file__).parent
KERNELS = ["hamming/kernels.py", "hashing/kernels.py"]
OUTSIDE = {
    "numpy",
    "math",
    "numba",
    "llvmlite",
}  # installed, and no part of the program that is being changed


def names(tree: ast.AST, stored: bool) -> set[str]:
    """The names that something gives a value to, or those that it reads."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, ast.Store) == stored}


def own_names(tree: ast.Module) -> Iterator[str]:
    """The names that are defined in this file or come from an installed library."""
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                yield name
            case ast.Assign() | ast.AnnAssign():
                yield from names(statement, stored=True)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    module = (getattr(statement, "module", None) or alias.name).split(".")[0]
                    if module in OUTSIDE:
                        yield alias.asname or module if isinstance(statement, ast.Import) else alias.name


def compiled_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """What njit or intrinsic decorates, or a name that the file gives to one of them."""
    compilers = {"njit", "intrinsic"}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and names(statement, stored=False) & compilers:
            compilers |= names(statement, stored=True)
    functions = [statement for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    return [f for f in functions if any(names(d, stored=False) & compilers for d in f.decorator_list)]


def globals_used(function: ast.FunctionDef) -> set[str]:
    """Names that a function reads and does not bind; annotations are never run."""
    bound = names(function, stored=True)
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name):
                bound.add(name)
                node.annotation = None
            case ast.FunctionDef(name=name):
                bound.add(name)
                node.returns, node.decorator_list = None, []
    return names(function, stored=False) - bound - set(dir(builtins))


def strangers(source: str) -> set[str]:
    """The names that compiled functions use and another file of the program defines."""
    tree = ast.parse(source)
    return set().union(*map(globals_used, compiled_functions(tree))) - set(own_names(tree))


@pytest.mark.parametrize("file", KERNELS)
def test_compiled_functions_use_names_of_their_own_file_alone(file):
    source = (PACKAGE / file).read_text(encoding="utf-8")
    assert compiled_functions(ast.parse(source))
    assert strangers(source) == set()


def test_nothing_else_is_compiled():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    compiling = {path.relative_to(PACKAGE).as_posix() for path, text in sources.items() if "njit" in text}
    assert compiling == set(KERNELS)


def test_a_constant_of_another_file_is_found():
    source = """
import numpy as np
from numba import njit
from smfh.types import EPS, FloatArray
HERE = 1
fast = njit(cache=True)

@fast
def kernel(x: FloatArray):
    total = np.float64(HERE)
    return total + EPS + len(x)
"""
    assert strangers(source) == {"EPS"}
    assert strangers(source.replace("import EPS, FloatArray", "import FloatArray\nEPS = 1e-12")) == set()
