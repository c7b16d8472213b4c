"""Many visitors at once who open, train, search and turn pages, over the real protocol, on loopback.

    python tests/load/twenty.py --visitors 20 --minutes 5

starts a server of its own on an empty cache, and prints as JSON how long each thing took, what went wrong,
and what memory and open files the server had. A soak fails if the server does not give its memory back:

    python tests/load/twenty.py --visitors 10 --minutes 10 --uploads --after 7 --check
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import sys
import urllib.request
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, sleep, time
from typing import Any

import numpy as np
import psutil
from visitor import Visitor

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from smfh.bench.measure import family_bytes  # noqa: E402, found from here
from smfh.ui.log import short_id  # noqa: E402
from smfh.ui.notebook import start_app  # noqa: E402

MAX_WAIT_SECONDS = 120  # for any one action
SEED, WORDS = "Random seed", "Words"
UPLOADER, UPLOAD_ROWS = "Upload files", 2_000
MAX_MORE_MEGABYTES, MAX_MORE_FILES = 300, 20  # of an empty server after a soak
LOG_CHARACTERS = 4_000  # of the first traceback in the log of the server
LONG_RUN = "data=synthetic&method=smfh-plus&bits=128&iterations=100&rounds=20"
OTHERS = ("Bits", "Compare", "Runs", "Paper", "Data", "Tune")
QUESTIONS = ("dog", "red heart", "flag", "music", "tree in the snow", "happy face", "train", "fish", "clock")
THINKING_SECONDS = (2.0, 6.0)  # shortest and longest time between two actions of a person
FINISHED = re.compile(r"(?P<when>\S+Z) INFO \S+ run visitor=(?P<visitors>\S+) state=finished")


class Diary:
    """What all visitors met."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.timed_out: dict[str, int] = defaultdict(int)
        self.faults: list[str] = []
        self.seen: list[tuple[str, float, float]] = []  # a visitor's trainings: when asked for, when seen
        self.memory: list[float] = []  # GB

    async def wait(self, what: str, done: Awaitable[Any]) -> bool:
        """Whether it was done in time; how long it took is written down."""
        started = perf_counter()
        try:
            await asyncio.wait_for(done, MAX_WAIT_SECONDS)
        except TimeoutError:
            self.timed_out[what] += 1
            return False
        except (OSError, LookupError) as error:
            self.faults.append(f"{what}: {type(error).__name__} {error}")
            return False
        self.seconds[what].append(perf_counter() - started)
        return True

    def report(self) -> dict[str, Any]:
        """Times, failures and memory, to be printed."""
        return {
            "seconds": {
                what: {
                    "times": len(all_),
                    "median": round(median(all_), 2),
                    "p95": round(quantiles(all_, n=20, method="inclusive")[-1], 2) if len(all_) > 1 else None,
                    "longest": round(max(all_), 2),
                }
                for what, all_ in self.seconds.items()
                if all_
            },
            "timed out": dict(self.timed_out),
            "faults": sorted(set(self.faults)),
            "memory in GB": {"first": self.memory[0], "peak": max(self.memory), "last": self.memory[-1]},
        }


async def visit(
    number: int, address: str, end: float, thinking: tuple[float, float], diary: Diary, uploads: bool = False
) -> None:
    """One person, until the time is up: a tab, trainings of their own, questions, other pages."""
    chance = random.Random(number)  # noqa: S311

    async def think() -> None:
        await asyncio.sleep(chance.uniform(*thinking))

    seed = 1000 * (number + 1)
    while perf_counter() < end:
        visitor = Visitor(address)
        try:
            if not await diary.wait("open Explore", visitor.open()):
                continue
            await diary.wait("first scores", visitor.until(has_scores))
            for once_more in range(2):
                if once_more and perf_counter() > end:
                    break
                await think()
                seed += 1
                if not await diary.wait("set the seed", visitor.enter("number_input", SEED, seed)):
                    break
                started = time()
                await diary.wait("press Train", visitor.press("Train"))
                if await diary.wait("scores", visitor.until(lambda v, new=f"seed {seed}": shows_run(v, new))):
                    diary.seen.append((visitor.name, started, time()))
                await think()
                await diary.wait("turn to Search", visitor.turn_to("Search"))
                await diary.wait("Search can be asked", visitor.until(has_box))
                await think()
                await diary.wait("ask", visitor.enter("text_input", WORDS, chance.choice(QUESTIONS)))
                await think()
                other = chance.choice(OTHERS)
                await diary.wait(f"turn to {other}", visitor.turn_to(other))
                await think()
                await diary.wait("back to Explore", visitor.turn_to(""))
            if uploads and perf_counter() < end:
                await diary.wait("turn to Data", visitor.turn_to("Data"))
                sent = visitor.upload(UPLOADER, "mine.npz", own_matrices(number))
                if await diary.wait("upload 5 MB", sent):
                    await diary.wait("preview", visitor.until(has_preview))
        finally:
            diary.faults += visitor.faults
            await visitor.close()
        await think()


def own_matrices(seed: int) -> bytes:
    """About 5 MB of random features with labels."""
    rng = np.random.default_rng(seed)
    X = {name: rng.random((UPLOAD_ROWS, 320), dtype=np.float32) for name in ("image", "text")}
    np.savez(file := BytesIO(), **X, labels=rng.integers(0, 5, UPLOAD_ROWS))
    return file.getvalue()


def has_preview(visitor: Visitor) -> bool:
    return any(button.label.startswith("Use ") for button in visitor.all("button"))


def has_scores(visitor: Visitor) -> bool:
    return bool(visitor.all("metric"))


def has_box(visitor: Visitor) -> bool:
    return any(box.label == WORDS for box in visitor.all("text_input"))


def shows_run(visitor: Visitor, words: str) -> bool:
    return has_scores(visitor) and any(words in text for text in visitor.texts())


async def watch_memory(pid: int, diary: Diary, every: float = 2.0) -> None:
    while True:
        diary.memory.append(memory_of(pid))
        await asyncio.sleep(every)


def memory_of(pid: int) -> float:
    """GB that a process and its children hold."""
    return round((family_bytes(str(pid)) or 0) / 2**30, 3)


def seconds_after_the_queue(diary: Diary, log: Path) -> list[float]:
    """How long after a training was over, as the server's log has it, its visitor saw the scores."""
    over: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text(errors="replace").splitlines():
        if found := FINISHED.match(line):
            for short in found["visitors"].split(","):
                over[short].append(datetime.fromisoformat(found["when"]).timestamp())
    waited = []
    for name, asked, seen in diary.seen:
        ends = [end for end in over[short_id(name)] if int(asked) <= end <= seen]
        waited += [seen - max(ends)] if ends else []
    return waited


@contextmanager
def server(environment: dict[str, str], log: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of a server as the README starts it, on an empty cache."""
    with log.open("w") as output:
        running = start_app(variables=environment, output=output)
    try:
        yield running.url.removeprefix("http://"), running.process.pid
    finally:
        running.close()


def settled(pid: int) -> float:
    """Wait until the workers are ready and the memory no longer changes; return it in GB."""
    seen = [0.0]
    while len(seen) < 30 and (len(seen) < 4 or max(seen[-4:]) - min(seen[-4:]) > 0.005):
        sleep(5)
        seen.append(memory_of(pid))
    return seen[-1]


async def leave_a_job(address: str) -> None:
    """Start a long training and leave."""
    visitor = Visitor(address)
    await visitor.open(query=LONG_RUN)
    await asyncio.sleep(10)
    await visitor.close()


async def load(
    address: str, pid: int, visitors: int, minutes: float, thinking: tuple[float, float], uploads: bool = False
) -> Diary:
    """Let so many visit for so long, all from the same moment on."""
    diary, end = Diary(), perf_counter() + 60 * minutes
    memory = asyncio.create_task(watch_memory(pid, diary))
    visits = asyncio.gather(*(visit(number, address, end, thinking, diary, uploads) for number in range(visitors)))
    with contextlib.suppress(TimeoutError):  # what is under way at the end is not waited for for ever
        await asyncio.wait_for(visits, 60 * minutes + MAX_WAIT_SECONDS)
    memory.cancel()
    return diary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--after", type=float, default=0.0, help="minutes until memory is looked at again")
    about = "shortest and longest seconds between two actions"
    parser.add_argument("--thinking", type=float, nargs=2, default=THINKING_SECONDS, help=about)
    parser.add_argument("--uploads", action="store_true", help="visitors upload matrices, too")
    parser.add_argument("--leave-a-job", action="store_true", help="in the end a training runs without a viewer")
    parser.add_argument("--check", action="store_true", help="fail if memory or open files are not given back")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        with server(os.environ | {"SMFH_CACHE": f"{folder}/cache"}, log) as (address, pid):
            first, files = settled(pid), psutil.Process(pid).num_fds()
            diary = asyncio.run(load(address, pid, given.visitors, given.minutes, given.thinking, given.uploads))
            if given.leave_a_job:
                asyncio.run(leave_a_job(address))
            diary.seconds["from the end of a training to its scores"] = seconds_after_the_queue(diary, log)
            report = diary.report()
            sleep(60 * given.after)
            report["memory in GB"] |= {"first": first, f"{given.after:g} min after": (last := memory_of(pid))}
            report["open files"] = {"first": files, "last": (last_files := psutil.Process(pid).num_fds())}
            with urllib.request.urlopen(f"http://{address}/health", timeout=60) as answer:
                report["busy"] = json.load(answer)["busy"]
        if report["faults"]:
            _, started, traceback = log.read_text(errors="replace").partition("Traceback")
            print(f"{started}{traceback}"[:LOG_CHARACTERS], file=sys.stderr)
    print(json.dumps(report, indent=1))
    if given.check:
        assert last - first < MAX_MORE_MEGABYTES / 1024, f"memory grew from {first} to {last} GB"
        assert last_files - files < MAX_MORE_FILES, f"open files grew from {files} to {last_files}"


if __name__ == "__main__":
    main()
