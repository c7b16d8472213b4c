"""How long a visitor waits, beside what the same work takes without a page; a program of its own.

python -m smfh.ui.timing REPEATS prints what it found as JSON.
"""

import json
import os
import sys
from pathlib import Path
from time import perf_counter, sleep

from streamlit.testing.v1 import AppTest

from smfh.bench.measure import Report
from smfh.datasets import DATASETS
from smfh.hashing import make_method
from smfh.runs import find_or_train
from smfh.ui.running import TICK

APP = Path(__file__).parents[2] / "streamlit_app.py"
SEED = "control_smfh-plus_seed"
WAIT = 120  # seconds at the most
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


def _until_scores(page: AppTest, seed: int) -> None:
    """Look again as often as the page does by itself."""
    end = perf_counter() + WAIT
    while not (page.metric and f"seed {seed}" in page.subheader[1].value):
        if perf_counter() > end:
            raise TimeoutError("The page showed no scores.")
        sleep(TICK)
        page.run()


if __name__ == "__main__":
    found = Report()
    bench_page(found, int(sys.argv[1]))
    print(json.dumps(vars(found)))
