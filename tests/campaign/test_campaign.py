"""Thousands of changed files and links, the same in every run: each is read, or refused with an InputError.

SMFH_CAMPAIGN says how many; with 100000 it is the long form, with a fifth as many links; -n 0 -s lets it tell
what it found.
"""

import os
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from links import LINKED, follow, make_query, parts
from readers import READERS, Reader
from streamlit.testing.v1 import AppTest

from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of parsers, about what is odd

SHORT = 3_000
INPUTS = int(os.environ.get("SMFH_CAMPAIGN", SHORT))
LINKS, PAGES = INPUTS // 5, max(1, INPUTS // 5_000)  # a page is drawn whole for few of them
SLOW = 5.0  # seconds
ROOT = Path(__file__).parents[2]
QUICK = {
    "data": "planted",
    "data.items": "60",
    "method": "smfh-plus",
    "bits": "8",
    "iterations": "2",
    "rounds": "1",
}


@dataclass
class Tally:
    """What became of the inputs of one reader."""

    inputs: int = 0
    refused: int = 0
    uncaught: Counter[str] = field(default_factory=Counter)  # kind and place
    slowest: float = 0.0  # seconds by the clock, which others on the machine make longer
    hardest: float = 0.0  # and of the processor, with what a child has used
    slow: int = 0  # by the processor

    def count(self, read: Callable[[], object]) -> None:
        """Let one input be read."""
        self.inputs += 1
        begun, used = time.perf_counter(), processor_seconds()
        try:
            read()
        except InputError:
            self.refused += 1
        except Exception as error:
            self.uncaught[f"{type(error).__name__} at {place_of(error)}"] += 1
        self.slowest = max(self.slowest, time.perf_counter() - begun)
        work = processor_seconds() - used
        self.hardest = max(self.hardest, work)
        self.slow += work > SLOW

    def __str__(self) -> str:
        told = "".join(f"\n    {times} × {what}" for what, times in self.uncaught.most_common())
        return (
            f"{self.inputs:>7,} inputs, {self.refused:>7,} refused, {self.uncaught.total():>3} uncaught, "
            f"at most {self.slowest:6.3f} s ({self.hardest:5.2f} s of work), {self.slow} over {SLOW:g} s"
            + told
        )


def processor_seconds() -> float:
    return sum(os.times()[:4])


def place_of(error: Exception) -> str:
    """The last line of ours that it went through, and what it says."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
    last = frames[-1]
    return f"{Path(last.filename).relative_to(ROOT)}:{last.lineno} ({str(error)[:80]!r})"


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[str, Tally]]:
    """Of all readers; told at the end with the memory that it took."""
    found: dict[str, Tally] = {}
    yield found
    lines = [f"{name:<18} {tally}" for name, tally in found.items()]
    if sys.platform != "win32":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        lines.append(f"Peak memory of the whole run, with all that was imported and drawn: {peak:,.0f} MB")
    print("\n" + "\n".join(lines))


def check(tally: Tally) -> None:
    assert not tally.uncaught, str(tally)
    assert tally.refused
    if INPUTS > SHORT:
        assert not tally.slow, str(tally)


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused(name, tallies, tmp_path):
    reader, tally = READERS[name], tallies.setdefault(name, Tally())
    whole = sum(one.share for one in READERS.values())
    read_in(tmp_path / "sound", reader, reader.make(None))  # as it is, it is read; and all is imported
    rng = np.random.default_rng(1)
    for _ in range(max(5, round(INPUTS * reader.share / whole))):
        content = reader.make(rng)
        tally.count(lambda content=content: read_in(tmp_path / "changed", reader, content))
    check(tally)


def read_in(folder: Path, reader: Reader, content: bytes) -> None:
    folder.mkdir()
    try:
        reader.read(content, folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("page", ["", *LINKED])
def test_a_changed_link_is_followed_or_told(page, tallies):
    tally, rng = tallies.setdefault(f"link {page}", Tally()), np.random.default_rng(2)
    for _ in range(LINKS // len(parts())):
        query = make_query(parts()[page][1], rng)
        tally.count(lambda query=query: follow(page, query))
    check(tally)


@pytest.mark.parametrize("page", LINKED)
def test_a_page_is_drawn_whatever_its_link_says(page, tallies):
    tally, rng = tallies.setdefault(f"page {page}", Tally()), np.random.default_rng(3)
    for _ in range(PAGES):
        query = QUICK | make_query(parts()[page][1], rng)
        tally.count(lambda query=query: draw(page, query))
    assert not tally.uncaught, str(tally)


def draw(page: str, query: dict[str, str]) -> None:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)
    app.switch_page(f"pages/{page}.py")
    for key, text in query.items():
        app.query_params[key] = text
    app.run()
    end = time.monotonic() + 60
    while trains(app) and time.monotonic() < end:
        app.run()
    app.run()
    assert not app.exception, app.exception[0].value


def trains(app: AppTest) -> bool:
    return "shown" in app.session_state and app.session_state["shown"].job.state in ("queued", "running")
