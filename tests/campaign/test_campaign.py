"""Thousands of changed files and links, the same in every run: each is read, or refused with an InputError.

SMFH_CAMPAIGN is the number of files, with a fifth as many links; the default is short, 100000 is long.
"""

import os
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from links import LINKED, follow, make_query, parts
from readers import READERS, Reader
from streamlit.testing.v1 import AppTest

from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # parsers warn about odd files

SHORT = 3_000
INPUTS = int(os.environ.get("SMFH_CAMPAIGN", SHORT))
LINKS, PAGES = INPUTS // 5, max(1, INPUTS // 5_000)  # a whole page is drawn for few of them
MAX_SECONDS = 5.0  # of processor time for one input; checked in the long form
ROOT = Path(__file__).parents[2]
QUICK = {"data": "planted", "data.items": "60", "method": "smfh-plus", "bits": "8"}
QUICK |= {"iterations": "2", "rounds": "1"}


def read_all(inputs: int, make: Callable[[], Callable[[], object]]) -> int:
    """Read so many inputs and return how many were refused; any other error fails the test."""
    refused, uncaught, slowest = 0, Counter[str](), 0.0
    for _ in range(inputs):
        read = make()
        began = sum(os.times()[:4])
        try:
            read()
        except InputError:
            refused += 1
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            last = [frame for frame in frames if str(ROOT) in frame.filename][-1]
            place = f"{Path(last.filename).relative_to(ROOT)}:{last.lineno}"
            uncaught[f"{type(error).__name__} at {place} ({str(error)[:80]!r})"] += 1
        slowest = max(slowest, sum(os.times()[:4]) - began)
    assert not uncaught, "\n".join(f"{times} × {what}" for what, times in uncaught.most_common())
    assert slowest < MAX_SECONDS or inputs <= SHORT
    return refused


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused(name, tmp_path):
    reader, rng = READERS[name], np.random.default_rng(1)
    read_in(tmp_path / "unchanged", reader, reader.make(None))
    inputs = max(5, round(INPUTS * reader.share / sum(one.share for one in READERS.values())))

    def make() -> Callable[[], object]:
        content = reader.make(rng)
        return lambda: read_in(tmp_path / "changed", reader, content)

    refused = read_all(inputs, make)
    assert refused or name.startswith("layout")  # of a layout, unusable parts are skipped


def read_in(folder: Path, reader: Reader, content: bytes) -> None:
    folder.mkdir()
    try:
        reader.read(content, folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("page", ["", *LINKED])
def test_a_changed_link_is_followed_or_refused(page):
    keys, rng = parts()[page][1], np.random.default_rng(2)

    def make() -> Callable[[], object]:
        query = make_query(keys, rng)
        return lambda: follow(page, query)

    assert read_all(LINKS // len(parts()), make)


@pytest.mark.parametrize("page", LINKED)
def test_a_page_is_drawn_whatever_its_link_contains(page):
    keys, rng = parts()[page][1], np.random.default_rng(3)

    def make() -> Callable[[], object]:
        query = QUICK | make_query(keys, rng)
        return lambda: draw(page, query)

    read_all(PAGES, make)


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
