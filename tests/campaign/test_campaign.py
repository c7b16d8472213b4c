"""Thousands of changed and made files, and links, the same in every run: each is read, or refused with an InputError.

None may take more than 5 s of processor time or 500 MB. What each reader took is printed, with the totals so far.

SMFH_CAMPAIGN is the number of files, with a fifth as many links; the default is short, 100000 is long.
"""

import os
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from cases import MAX_MEGABYTES, MAX_SECONDS, measure
from links import LINKED, follow, make_query, parts
from readers import READERS, Reader
from streamlit.testing.v1 import AppTest

from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # parsers warn about odd files

SHORT = 3_000
INPUTS = int(os.environ.get("SMFH_CAMPAIGN", SHORT))
LINKS, PAGES = INPUTS // 5, max(1, INPUTS // 5_000)  # a whole page is drawn for few of them
LAYOUTS = {name for name in READERS if name.startswith("layout") or name in ("made .jsonl", "made .parquet")}
ROOT = Path(__file__).parents[2]
QUICK = {"data": "planted", "data.items": "60", "method": "smfh-plus", "bits": "8"}
QUICK |= {"iterations": "2", "rounds": "1"}


@pytest.fixture(scope="module")
def report(request):
    """Print what one kind of input took, and the totals up to it: of everything, and of the layouts of uploads."""
    costs: dict[str, dict[str, float]] = {}
    combined = {"inputs": sum, "refused": sum, "uncaught": sum, "seconds": max, "megabytes": max}

    def write(name: str, cost: dict[str, float]) -> None:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{name:28}", *(f"{value:,.6g} {what}" for what, value in cost.items()), sep=" · ", flush=True)

    def add(name: str, **cost: float) -> None:
        costs[name] = cost
        write(name, cost)
        for title, names in (("so far", costs), ("so far, layouts", [name for name in costs if name in LAYOUTS])):
            if names:
                write(title, {what: how(costs[name][what] for name in names) for what, how in combined.items()})

    return add


def read_all(name: str, inputs: int, make: Callable[[], Callable[[], object]], report: Callable[..., None]) -> int:
    """Read so many inputs and return how many were refused; any other error fails the test."""
    refused, uncaught, costs = 0, Counter[str](), []

    def read_or_refuse() -> None:
        nonlocal refused
        try:
            read()
        except InputError:
            refused += 1
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            last = [frame for frame in frames if str(ROOT) in frame.filename][-1]
            place = f"{Path(last.filename).relative_to(ROOT)}:{last.lineno}"
            uncaught[f"{type(error).__name__} at {place} ({str(error)[:80]!r})"] += 1

    for _ in range(inputs):
        read = make()
        costs.append(measure(read_or_refuse)[:2])
    seconds, megabytes = map(max, zip(*costs, strict=True))
    report(name, inputs=inputs, refused=refused, uncaught=uncaught.total(), seconds=seconds, megabytes=round(megabytes))
    assert not uncaught, "\n".join(f"{times} × {what}" for what, times in uncaught.most_common())
    assert seconds < MAX_SECONDS
    assert megabytes < MAX_MEGABYTES
    return refused


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused(name, tmp_path, report):
    reader, rng = READERS[name], np.random.default_rng(1)
    # layouts are read with options that may not fit; tests/datasets/test_layouts.py reads them as they are
    with suppress(InputError) if name.startswith("layout") else nullcontext():
        read_in(tmp_path / "unchanged", reader, reader.make(None))
    inputs = max(5, round(INPUTS * reader.share / sum(one.share for one in READERS.values())))

    def make() -> Callable[[], object]:
        content = reader.make(rng)
        return lambda: read_in(tmp_path / "changed", reader, content)

    refused = read_all(name, inputs, make, report)
    assert refused or name.startswith("layout")  # of a layout, unusable parts are skipped


def read_in(folder: Path, reader: Reader, content: bytes) -> None:
    folder.mkdir()
    try:
        reader.read(content, folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("page", ["", *LINKED])
def test_a_changed_link_is_followed_or_refused(page, report):
    keys, rng = parts()[page][1], np.random.default_rng(2)

    def make() -> Callable[[], object]:
        query = make_query(keys, rng)
        return lambda: follow(page, query)

    assert read_all(f"links of {page or 'all pages'}", LINKS // len(parts()), make, report)


@pytest.mark.parametrize("page", LINKED)
def test_a_page_is_drawn_whatever_its_link_contains(page):
    keys, rng = parts()[page][1], np.random.default_rng(3)
    for _ in range(PAGES):
        with suppress(InputError):
            draw(page, QUICK | make_query(keys, rng))


def draw(page: str, query: dict[str, str]) -> None:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)
    app.switch_page(f"pages/{page}.py")
    for key, text in query.items():
        app.query_params[key] = text
    app.run()
    end = time.monotonic() + 60
    while is_training(app) and time.monotonic() < end:
        app.run()
    app.run()
    assert not app.exception, app.exception[0].value


def is_training(app: AppTest) -> bool:
    return "shown" in app.session_state and app.session_state["shown"].job.state in ("queued", "running")
