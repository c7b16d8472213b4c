"""The code next to each equation, and the small example as a notebook and as a script.

The lines of code are those of `smfh/hashing/reference.py`. Notebook and script need only NumPy; they hold the
data of the example, Algorithm 1, and the numbers of the page, with which they compare their own.
"""

import inspect
import json
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from smfh.hashing.reference import algorithm_1
from smfh.lessons.walkthrough import STEP_INFO, STEP_NAMES, Walkthrough
from smfh.types import EPS

FIRST_LINES = dict(zip(STEP_NAMES, ("Eq. 12", "Eq. 13", "Eq. 17", "Scaling", "Eq. 18"), strict=True))

ALGORITHM = """\
def affinity(labels):
    A = labels.astype(float) @ labels.T.astype(float)  # how many classes two items share
    return A, np.diag(A.sum(axis=1))


def smfh(X, labels, r, α, μ, m, β, η, γ, iterations, seed):
    rng, dense, EPS = np.random.default_rng(seed), np.asarray, {eps!r}
    N, n_t = len(labels), len(X)
    λ, μ = 1 / n_t, μ * 2 / n_t
    Y = rng.random((N, r))  # random start
    U = {{t: rng.random((X[t].shape[1], r)) for t in X}}
    W = {{t: np.zeros_like(U[t]) for t in X}}
    for _ in range(iterations):
{steps}
    return Y, U, W
"""
SEARCH_CODE = {  # the lines that follow the training
    "code": "thresholds = Y.mean(axis=0)\ncodes = Y > thresholds",
    "query": "query_code = X[t][query] @ W[t] > thresholds",
    "distances": "distances = np.count_nonzero(codes != query_code, axis=1)",
    "results": 'order = np.argsort(distances, kind="stable")',
}
TRAIN = """\
Y, U, W = smfh(X, labels, {arguments})
{code}
for name, own in zip(names, codes):
    print(f"{{name:<24}}", *own.astype(int))
"""
SEARCH = """\
t, query = {source!r}, {item}
{query}
{distances}
{results}
print(f"\\nRanking for the {{t}} of {{names[query]}}:")
for i in order:
    print(f"{{names[i]:<24}} {{distances[i]}} bits")
"""
CHECK = """\
page_Y = np.array({relaxed})
np.testing.assert_allclose(Y, page_Y, rtol=1e-6, atol=1e-9)
print("\\nThe numbers equal those of the page.")
"""


@cache
def step_code(name: str) -> str:
    """Return the lines of the reference implementation that compute a step."""
    lines = inspect.getsource(algorithm_1).splitlines()
    starts = [_first(lines, f"# {FIRST_LINES[step]}") for step in STEP_NAMES] + [_first(lines, "yield")]
    number = STEP_NAMES.index(name)
    return textwrap.dedent("\n".join(lines[starts[number] : starts[number + 1]]))


def _first(lines: Sequence[str], beginning: str) -> int:
    return next(k for k, line in enumerate(lines) if line.strip().startswith(beginning))


def make_script(walkthrough: Walkthrough, query: int = 0) -> str:
    """Return the example as a Python script that needs only NumPy."""
    parts = []
    for kind, text in _cells(walkthrough, query):
        parts.append(text if kind == "code" else textwrap.indent(text, "# ", bool))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def make_notebook(walkthrough: Walkthrough, query: int = 0) -> str:
    """Return the example as a Jupyter notebook (format 4.5)."""
    cells: list[Mapping[str, Any]] = []
    for number, (kind, text) in enumerate(_cells(walkthrough, query)):
        cell = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text.splitlines(True)}
        cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def _cells(walkthrough: Walkthrough, query: int) -> list[tuple[str, str]]:
    """Return the cells of the notebook, each with its kind, markdown or code."""
    example, method = walkthrough.example, walkthrough.method
    data, last = example.data, walkthrough.steps[-1].after
    names = data.captions or [f"item {row}" for row in example.rows]
    steps = "\n".join(textwrap.indent(step_code(name), " " * 8) for name in STEP_NAMES)
    arguments = (
        f"r={method.bits}, α={method.graph_weight}, μ={method.projection_weight}, m={method.graph_sample}, "
        f"β={method.orthogonality_weight}, η={method.smoothness},\n               γ={method.ridge}, "
        f"iterations={method.iterations}, seed={method.seed}"
    )
    features = "".join(f"    {t!r}: np.array({_literal(X.tolist())}),\n" for t, X in last.X.items())
    columns = {t: list(names) for t, names in example.features.items()}
    explained = "\n".join(f"- {info.title}: {info.explanation}" for info in STEP_INFO.values())
    return [
        (
            "markdown",
            "# SMFH on a small example\nItems with pictures, words and labels, one row each. Needs only NumPy.",
        ),
        (
            "code",
            f"import numpy as np\n\nnames = {list(names)}\ncolumns = {columns}  # of the features X\n"
            f"X = {{\n{features}}}\nclasses = {list(data.class_names)}\n"
            f"labels = np.array({_literal(data.labels.astype(int).tolist())}, dtype=bool)\n",
        ),
        ("markdown", f"## Algorithm 1\nEach iteration has five steps.\n\n{explained}"),
        ("code", ALGORITHM.format(steps=steps, eps=EPS)),
        ("markdown", "## Train\nA bit is on where Y is above the mean of its column."),
        ("code", TRAIN.format(arguments=arguments, **SEARCH_CODE)),
        ("markdown", "## Search\nThe hash function W turns features into a code; fewest different bits first."),
        ("code", SEARCH.format(source=walkthrough.source, item=query, **SEARCH_CODE)),
        ("markdown", "## The same numbers as on the page"),
        ("code", CHECK.format(relaxed=_literal(last.Y.tolist()))),
    ]


def _literal(rows: Sequence[Sequence[float]]) -> str:
    """Return a matrix as Python source, with one row per line."""
    return "[\n" + "".join(f"        {row},\n" for row in rows) + "    ]"
