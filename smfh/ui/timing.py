"""Measure how long a visitor waits, compared with the same work in Python without a page.

`python -m smfh.ui.timing REPEATS` prints the measurements as JSON. Those of visits need Chromium.
"""

import json
import os
import shutil
import sys
from dataclasses import replace
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

from streamlit.testing.v1 import AppTest

from smfh.bench.measure import Report
from smfh.datasets import DATASETS
from smfh.folders import APP_SCRIPT, app_folder
from smfh.hashing import make_method
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.walkthrough import DEFAULT_METHOD, walk_through
from smfh.runs import find_or_train
from smfh.ui.learn.iteration import WALKTHROUGHS
from smfh.ui.notebook import start_app
from smfh.ui.page import REDRAW_SECONDS

APP = app_folder() / APP_SCRIPT
SLIDER_VALUES = (0.2, 0.5, 2.0, 5.0, 10.0)  # of α in Learn
SEED_CONTROL = "control_smfh-plus_seed"
FIRST_SEED = 90_000  # no store has runs with this seed or later ones
WAIT_SECONDS = 120
SETTLE_SECONDS = 3
WALL = """() => {  // the first eight pictures are there
  const pictures = [...document.querySelectorAll(".st-key-wall img")].slice(0, 8)
  return pictures.length === 8 && pictures.every((picture) => picture.complete && picture.naturalWidth)
}"""


def bench_page(report: Report, repeats: int) -> None:
    """Measure on Emoji the time from a click on Train to the scores, and from a display change to its effect."""
    os.environ["SMFH_RUNS_GB"] = "0"  # no run is saved or found
    source = DATASETS["emoji"]()
    data, split = source.load()
    page = AppTest.from_file(str(APP), default_timeout=WAIT_SECONDS)
    page.run()
    _wait_for_scores(page, seed=0)
    clicks, direct, display = [], [], []
    for seed in range(FIRST_SEED, FIRST_SEED + repeats):
        started = perf_counter()
        find_or_train(None, source, make_method("smfh-plus", seed=seed), data, split)
        direct.append(perf_counter() - started)
        page.number_input(key=SEED_CONTROL).set_value(seed).run()
        started = perf_counter()
        page.button(key="train").click().run()
        _wait_for_scores(page, seed)
        clicks.append(perf_counter() - started)
        started = perf_counter()
        page.slider(key="curve_k").set_value(10 + seed - FIRST_SEED).run()
        display.append(perf_counter() - started)
    click, python, redraw = min(clicks), min(direct), min(display)
    report.seconds |= {"click to scores": click, "fit and evaluate": python, "display": redraw}
    what = "Emoji, 64 bits: time from a click on Train to the scores, compared with the same work in Python"
    report.compare("click to scores/python", click, python, what)
    what = "time to redraw the curves for another K, compared with a click on Train"
    report.compare("display/click to scores", redraw, click, what)


def bench_diagram(report: Report, repeats: int) -> None:
    """Measure the time from a slider move to the updated diagram on the Learn page, and of training alone."""
    page = AppTest.from_function(_draw_diagram, default_timeout=WAIT_SECONDS)
    page.run()
    data, _ = DATASETS["emoji"]().load()
    example, updates, steps = make_example(data, default_rows(data)), [], []
    for alpha in SLIDER_VALUES * repeats:
        slider = page.select_slider(key="learn_alpha").set_value(alpha)
        WALKTHROUGHS.forget_where()
        started = perf_counter()
        slider.run()
        updates.append(perf_counter() - started)
        started = perf_counter()
        walk_through(example, replace(DEFAULT_METHOD, graph_weight=alpha))
        steps.append(perf_counter() - started)
    update, training = min(updates), min(steps)
    report.seconds |= {"slider to diagram": update, "slider to diagram, median": median(updates)}
    what = "Learn, nine items, 50 steps: the page after a slider move, compared with the training alone"
    report.compare("slider to diagram/training", update, training, what)


def _draw_diagram() -> None:
    """Draw only the diagram, as a slider move does on the page (the script of an AppTest)."""
    from smfh.datasets import DATASETS
    from smfh.ui.learn.page import draw_overview
    from smfh.ui.server import load_source

    draw_overview(load_source(DATASETS["emoji"]())[0])


def bench_visits(report: Report, chromium: str) -> None:
    """Measure the time until a new server shows pictures on the first page, with empty and with full caches."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        empty = {"NUMBA_CACHE_DIR": f"{folder}/numba", "SMFH_CACHE": f"{folder}/smfh", "SMFH_RUNS_GB": "5"}
        server = start_app(variables=empty)
        try:
            arguments = ["--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
            for visit in ("first visit", "later visit"):
                page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
                started = perf_counter()
                page.goto(server.url)
                page.wait_for_function(WALL, timeout=1000 * WAIT_SECONDS)
                report.seconds[visit] = perf_counter() - started
                page.wait_for_selector("[data-testid=stMetric]", timeout=1000 * WAIT_SECONDS)
                page.context.close()
            for name in ("emoji", "wiki"):
                if not DATASETS[name]().missing():
                    report.seconds[f"a click on Sweep α to the first point, {name}"] = _time_sweep(
                        browser.new_page(viewport={"width": 1440, "height": 900}), f"{server.url}/?data={name}"
                    )
            browser.close()
        finally:
            server.close()
    first, later = report.seconds["first visit"], report.seconds["later visit"]
    what = "until the first pictures are shown: with empty caches, compared with filled ones"
    report.compare("first visit/later visit", first, later, what)


def _time_sweep(page: Any, address: str) -> float:
    """Return the seconds from a click on a sweep button in Explore to the first point of the curve in Tune."""
    page.goto(address)
    button = page.wait_for_selector(".st-key-sweep_graph_weight button", timeout=1000 * WAIT_SECONDS)
    sleep(SETTLE_SECONDS)  # Explore trains now, if its run is not saved
    started = perf_counter()
    button.click()
    page.wait_for_selector(".js-plotly-plot .scatterlayer path.point", timeout=1000 * WAIT_SECONDS)
    return perf_counter() - started


def _wait_for_scores(page: AppTest, seed: int) -> None:
    """Run the page as often as a browser would, until it shows the scores of this seed."""
    end = perf_counter() + WAIT_SECONDS
    while not (page.metric and any(f"seed {seed}" in title.value for title in page.subheader)):
        if perf_counter() > end:
            raise TimeoutError("The page showed no scores.")
        sleep(REDRAW_SECONDS)
        page.run()


if __name__ == "__main__":
    found, repeats = Report(), int(sys.argv[1])
    if path := os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser"):
        bench_visits(found, path)
    bench_diagram(found, repeats)
    bench_page(found, repeats)
    print(json.dumps(vars(found)))
