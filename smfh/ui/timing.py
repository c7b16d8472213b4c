"""How long a visitor waits, beside what the same work takes without a page; a program of its own.

python -m smfh.ui.timing REPEATS prints what it found as JSON.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from streamlit.testing.v1 import AppTest

from smfh.bench.measure import Report
from smfh.comparison import Grid, train_grid
from smfh.datasets import DATASETS
from smfh.hashing import make_method
from smfh.home import SCRIPT, home
from smfh.lessons.lessons import LESSONS
from smfh.runs import RunStore, find_or_train
from smfh.ui.running import TICK

if TYPE_CHECKING:
    from playwright.sync_api import Locator

APP = home() / SCRIPT
SEED = "control_smfh-plus_seed"
WAIT = 120  # seconds at the most
WALL = """() => {  // the first eight pictures are there
  const pictures = [...document.querySelectorAll(".st-key-wall img")].slice(0, 8)
  return pictures.length === 8 && pictures.every((picture) => picture.complete && picture.naturalWidth)
}"""
VISITS = ("first visit", "later visit")
LESSON = ("lesson drawn", "lesson moved")
LINK = "Learn?learn.lesson=two-truths"
ANSWERS, SLIDER = ".st-key-lesson_walls li img", ".st-key-learn_at input"
STILL = "[data-testid=stApp][data-test-script-state=notRunning]"
GLANCE = 0.005  # seconds
SEEDS = 90_000  # from here on; nobody has trained with them before


def bench_page(report: Report, repeats: int) -> None:
    """From the click on Train to the first scores, and a change of what is shown alone, on Emoji."""
    os.environ["SMFH_RUNS_GB"] = "0"  # nothing of this is kept, and nothing is found
    source = DATASETS["emoji"]()
    data, split = source.load()
    page = AppTest.from_file(str(APP), default_timeout=WAIT)
    page.run()
    _until_scores(page, seed=0)
    clicks, direct, again = [], [], []
    for seed in range(SEEDS, SEEDS + repeats):
        started = perf_counter()
        find_or_train(None, source, make_method("smfh-plus", seed=seed), data, split)
        direct.append(perf_counter() - started)
        page.number_input(key=SEED).set_value(seed).run()
        started = perf_counter()
        page.button(key="train").click().run()
        _until_scores(page, seed)
        clicks.append(perf_counter() - started)
        started = perf_counter()
        page.slider(key="curve_k").set_value(10 + seed - SEEDS).run()
        again.append(perf_counter() - started)
    report.seconds |= {"click to scores": min(clicks), "fit and evaluate": min(direct), "display": min(again)}
    what = "Emoji, 64 bits: the page beside the same from Python"
    report.compare("click to scores/python", min(clicks), min(direct), what)
    report.compare("display/click to scores", min(again), min(clicks), "a change of K beside a new training")


def bench_visits(report: Report) -> None:
    """From the first request to a wall of pictures: nothing kept and nothing compiled; then a new visitor."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as folder:
        empty = {"NUMBA_CACHE_DIR": f"{folder}/numba", "SMFH_CACHE": f"{folder}/smfh", "SMFH_RUNS_GB": "5"}
        if chromium is not None:
            seconds = visit_by_browser(chromium, os.environ | empty)
        else:
            command = [sys.executable, "-m", "smfh.ui.timing", VISITS[0]]
            told = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=os.environ | empty)  # noqa: S603
            seconds = json.loads(told.stdout)
    report.seconds |= seconds
    what = "to a wall of pictures, nothing compiled or kept, beside the next visitor"
    first, later = (seconds[visit] for visit in VISITS)
    report.compare("first visit/later visit", first, later, what)


def bench_lesson(report: Report, repeats: int) -> None:
    """From a move of the slider in the lesson on two truths to its pictures, beside its first drawing."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as folder:
        environment = os.environ | {"SMFH_CACHE": folder, "SMFH_RUNS_GB": "5"}
        runs = LESSONS["two-truths"].runs
        train_grid(Grid(runs, *runs.source.load()), RunStore(Path(folder) / "runs", 5))
        if chromium is not None:
            seconds = move_by_browser(chromium, environment, repeats)
        else:
            command = [sys.executable, "-m", "smfh.ui.timing", LESSON[0]]
            told = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)  # noqa: S603
            seconds = json.loads(told.stdout)
    report.seconds |= seconds
    what = "two truths: from the slider to the pictures, beside the first drawing of its page"
    report.compare("lesson moved/drawn", seconds[LESSON[1]], seconds[LESSON[0]], what)


def move_by_browser(chromium: str, environment: dict[str, str], repeats: int) -> dict[str, float]:
    """Seconds until a visitor sees the lesson, and then from a key on its slider to other pictures."""
    from playwright.sync_api import sync_playwright

    drawn, moved = [], []
    with sync_playwright() as playwright, new_server(environment) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(1 + repeats):  # the first visitor waits for what the server has still to load
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            started = perf_counter()
            page.goto(f"{address}/{LINK}")
            pictures = page.locator(ANSWERS)
            pictures.last.wait_for(timeout=1000 * WAIT)
            drawn.append(perf_counter() - started)
            page.wait_for_selector(STILL, timeout=1000 * WAIT)
            for key in ("End", "Home"):
                before = _addresses(pictures)
                started = perf_counter()
                page.locator(SLIDER).press(key)
                while _addresses(pictures) == before and perf_counter() - started < WAIT:
                    sleep(GLANCE)
                moved.append(perf_counter() - started)
                page.wait_for_selector(STILL, timeout=1000 * WAIT)
            page.context.close()
        browser.close()
    return dict(zip(LESSON, (min(drawn), median(moved)), strict=True))


def _addresses(pictures: "Locator") -> list[str]:
    found: list[str] = pictures.evaluate_all("(all) => all.map((picture) => picture.src)")
    return found


def move_without_browser() -> dict[str, float]:
    """The same in this process, which should be a new one; each move draws the whole page again."""
    started, moved = perf_counter(), []
    page = AppTest.from_file(str(APP), default_timeout=WAIT).switch_page("pages/9_Learn.py")
    page.query_params["learn.lesson"] = "two-truths"
    page.run()
    drawn = perf_counter() - started
    for stop in (3, 5, 8):
        started = perf_counter()
        page.select_slider(key="learn_at").set_value(stop).run()
        moved.append(perf_counter() - started)
    return dict(zip(LESSON, (drawn, median(moved)), strict=True))


def visit_by_browser(chromium: str, environment: dict[str, str]) -> dict[str, float]:
    """Seconds of two visits to a new server, each by a browser that has seen nothing before."""
    from playwright.sync_api import sync_playwright

    seconds = {}
    with sync_playwright() as playwright, new_server(environment) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for visit in VISITS:
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            started = perf_counter()
            page.goto(address)
            page.wait_for_function(WALL, timeout=1000 * WAIT)
            seconds[visit] = perf_counter() - started
            page.wait_for_selector("[data-testid=stMetric]", timeout=1000 * WAIT)
            page.context.close()
        browser.close()
    return seconds


def visit_without_browser() -> dict[str, float]:
    """Seconds of two visits in this process, which should be a new one."""
    seconds = {}
    for visit in VISITS:
        started = perf_counter()
        page = AppTest.from_file(str(APP), default_timeout=WAIT)
        page.run()
        _until_scores(page, seed=0)
        seconds[visit] = perf_counter() - started
    return seconds


@contextmanager
def new_server(environment: dict[str, str]) -> Iterator[str]:
    """The address of a server that nobody has asked yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", APP.name, "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1"]
    server = subprocess.Popen(command, cwd=APP.parent, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        _until_up(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _until_up(address: str) -> None:
    end = perf_counter() + WAIT
    while perf_counter() < end:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):  # noqa: S310, our own server
                return
        except OSError:
            sleep(0.05)
    raise TimeoutError("The server did not start.")


def _until_scores(page: AppTest, seed: int) -> None:
    """Look again as often as the page does by itself."""
    end = perf_counter() + WAIT
    while not (page.metric and any(f"seed {seed}" in title.value for title in page.subheader)):
        if perf_counter() > end:
            raise TimeoutError("The page showed no scores.")
        sleep(TICK)
        page.run()


if __name__ == "__main__":
    if alone := {VISITS[0]: visit_without_browser, LESSON[0]: move_without_browser}.get(sys.argv[1]):
        print(json.dumps(alone()))
        sys.exit()
    found = Report()
    bench_visits(found)
    bench_lesson(found, int(sys.argv[1]))
    bench_page(found, int(sys.argv[1]))
    print(json.dumps(vars(found)))
