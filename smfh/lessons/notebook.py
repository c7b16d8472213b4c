"""The code next to each equation, and the small example as a script and as a notebook.

The lines of code are those of `smfh/hashing/reference.py`. Notebook and script need only NumPy; they hold the
data of the example, Algorithm 1, and the numbers of the page, with which they compare their own.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

from smfh.hashing.reference import algorithm_1
from smfh.lessons.walkthrough import STEP_INFO, STEP_NAMES, Walkthrough
from smfh.types import EPS

FIRST_LINES = ("# Eq. 12", "# Eq. 13", "# Eq. 17", "# Scaling", "# Eq. 18", "yield")  # of the steps, and after them
SEARCH_CODE = {  # the lines that follow the training
    "code": "thresholds = Y.mean(axis=0)\ncodes = Y > thresholds",
    "query": "query_code = X[t][query] @ W[t] > thresholds",
    "distances": "distances = np.count_nonzero(codes != query_code, axis=1)",
    "results": 'order = np.argsort(distances, kind="stable")',
}
SCRIPT = """\
# %% [markdown]
# # SMFH on a small example
# Items with pictures, words and labels, one row each. Needs only NumPy.

# %%
import numpy as np

names = {names}
columns = {columns}  # of the features X
X = {{
{features}}}
classes = {classes}
labels = np.array({labels}, dtype=bool)

# %% [markdown]
# ## Algorithm 1
# Each iteration has five steps.
#
{explained}

# %%
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

# %% [markdown]
# ## Train
# A bit is on where Y is above the mean of its column.

# %%
Y, U, W = smfh(X, labels, r={method.bits}, α={method.graph_weight}, μ={method.projection_weight},
               m={method.graph_sample}, β={method.orthogonality_weight}, η={method.smoothness}, γ={method.ridge},
               iterations={method.iterations}, seed={method.seed})
{code}
for name, own in zip(names, codes):
    print(f"{{name:<24}}", *own.astype(int))

# %% [markdown]
# ## Search
# The hash function W turns features into a code; fewest different bits first.

# %%
t, query = {source!r}, {item}
{query}
{distances}
{results}
print(f"\\nRanking for the {{t}} of {{names[query]}}:")
for i in order:
    print(f"{{names[i]:<24}} {{distances[i]}} bits")

# %% [markdown]
# ## The same numbers as on the page

# %%
page_Y = np.array({relaxed})
np.testing.assert_allclose(Y, page_Y, rtol=1e-6, atol=1e-9)
print("\\nThe numbers equal those of the page.")
"""


@cache
def step_code(name: str) -> str:
    """Return the lines of the reference implementation that compute a step of Algorithm 1."""
    lines, number = inspect.getsource(algorithm_1).splitlines(), STEP_NAMES.index(name)
    starts = [next(k for k, line in enumerate(lines) if line.strip().startswith(first)) for first in FIRST_LINES]
    return textwrap.dedent("\n".join(lines[starts[number] : starts[number + 1]]))


def make_script(walkthrough: Walkthrough, query: int = 0) -> str:
    """Return the example as a Python script that needs only NumPy; `# %%` begins a cell."""
    example, last = walkthrough.example, walkthrough.steps[-1].after
    return SCRIPT.format(
        names=list(example.data.captions or [f"item {row}" for row in example.rows]),
        columns={t: list(names) for t, names in example.features.items()},
        features="".join(f"    {t!r}: np.array({_literal(X.tolist())}),\n" for t, X in last.X.items()),
        classes=list(example.data.class_names),
        labels=_literal(example.data.labels.astype(int).tolist()),
        explained="\n".join(f"# - {info.title}: {info.explanation}" for info in STEP_INFO.values()),
        steps="\n".join(textwrap.indent(step_code(name), " " * 8) for name in STEP_NAMES),
        eps=EPS,
        method=walkthrough.method,
        source=walkthrough.source,
        item=query,
        relaxed=_literal(last.Y.tolist()),
        **SEARCH_CODE,
    )


def make_notebook(walkthrough: Walkthrough, query: int = 0) -> str:
    """Return the example as a Jupyter notebook (format 4.5) with the cells of the script."""
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(re.split("^# %%", make_script(walkthrough, query), flags=re.MULTILINE)[1:]):
        heading, text = part.split("\n", 1)
        kind = "markdown" if heading.strip() else "code"
        text = re.sub("^# ?", "", text.strip(), flags=re.MULTILINE) if kind == "markdown" else text.strip()
        cells.append({"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text.splitlines(True)})
        if kind == "code":
            cells[-1] |= {"execution_count": None, "outputs": []}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def _literal(rows: Sequence[Sequence[float]]) -> str:
    """Return a matrix as Python source, with one row per line."""
    return "[\n" + "".join(f"        {row},\n" for row in rows) + "    ]"
