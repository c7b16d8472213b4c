"""Start the app from a notebook or a script, also on a trained model."""

import atexit
import os
import socket
import subprocess
import sys
import time
import urllib.request
import webbrowser
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfh.datasets import DATASETS, DatasetSource
from smfh.datasets.notebook import plugin_text, read_dataset, write_dataset
from smfh.folders import APP_SCRIPT, app_folder, cache_folder
from smfh.hashing import METHODS, FittedHasher
from smfh.plugins import VARIABLE, load_text
from smfh.runs import Run, RunStore, run_key, score_run
from smfh.runs.run import Timing
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.settings import Settings, to_link

START_SECONDS = 60.0
MAX_COPIES = 200  # of training items as queries, if there is no split


@dataclass(frozen=True)
class ExploreServer:
    """An app started from a notebook; it ends with `close()` or when the notebook ends."""

    url: str
    process: subprocess.Popen[bytes]

    def close(self) -> None:
        """Stop the app."""
        self.process.terminate()
        self.process.wait()

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank">Open the model in Explore</a>'


def explore(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split | None = None,
    *,
    port: int = 0,
    open_browser: bool = True,
) -> ExploreServer:
    """Open the app on a trained model, its data and its scores.

    Parameters
    ----------
    hasher
        A model of a method in `METHODS`.
    data, split
        The data and the split that the model was trained on. Without a split, `data` are the training items,
        and copies of some of them are the queries; scores then say nothing about new items.
    port
        Port of the app; 0 for a free one.
    open_browser
        Whether to open a browser; the link is also in the returned value.

    Raises
    ------
    InputError
        If model and data do not fit, or the app does not start.
    """
    if hasher.method.name not in METHODS:
        raise InputError(f"{hasher.method.title} is not a registered method; load it as a plug-in.")
    if split is None:
        copies = np.linspace(0, len(data) - 1, min(len(data), MAX_COPIES)).astype(np.int64)
        split = Split(np.arange(len(data)), len(data) + np.arange(len(copies)))
        data = data.take(np.concatenate([split.train, copies]))
    if any(len(codes) != len(split.train) for codes in hasher.database_codes.values()):
        counts = ", ".join(f"{len(codes):,}" for codes in hasher.database_codes.values())
        raise InputError(f"The model has codes of {counts} items; the split has {len(split.train):,} training items.")
    key = f"{data.fingerprint[:12]}{split.fingerprint[:4]}"
    folder = cache_folder() / "notebooks" / key
    file, plugin = folder / "data.npz", folder / "plugin.py"
    write_dataset(file, data, split)
    name = f"notebook-{key}"
    plugin.write_text(plugin_text(name, file, data, split), encoding="utf-8")
    if problem := load_text(plugin.name, plugin.read_text(encoding="utf-8")).problem:
        raise InputError(problem)
    source: DatasetSource = DATASETS[name]()
    loaded = read_dataset(file, name)
    run = Run(run_key(*loaded, hasher.method), source, *loaded, hasher)
    scoring, encoding = score_run(run)
    RunStore(folder / "runs").save(run, Timing(hasher.seconds, encoding, hasher.seconds + scoring))
    plugins = os.pathsep.join(filter(None, [os.environ.get(VARIABLE, ""), str(plugin)]))
    server = start_app(port, {"SMFH_CACHE": str(folder), VARIABLE: plugins})
    link = ExploreServer(to_link(Settings(source, hasher.method), f"{server.url}/"), server.process)
    if open_browser:
        webbrowser.open(link.url)
    return link


def start_app(
    port: int = 0, variables: Mapping[str, str] | None = None, output: Any = subprocess.DEVNULL
) -> ExploreServer:
    """Start the app in another process, on a free port if `port` is 0, and wait until it answers."""
    if not port:
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
    script = app_folder() / APP_SCRIPT
    command = [sys.executable, "-m", "streamlit", "run", script.name, f"--server.port={port}"]
    command += ["--server.headless=true", "--server.showEmailPrompt=false"]
    environment = {**os.environ, **(variables or {})}
    process = subprocess.Popen(command, env=environment, cwd=script.parent, stdout=output, stderr=output)  # noqa: S603
    server = ExploreServer(f"http://localhost:{port}", process)
    atexit.register(process.terminate)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=1):  # noqa: S310, our own server
                return server
        except OSError:
            time.sleep(0.05)
    server.close()
    raise InputError(f"The app did not start on port {port} within {START_SECONDS:.0f} s; try another port.")
