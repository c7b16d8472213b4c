"""app: the explorer in the browser, from wherever it is installed."""

import os
import sys
from argparse import ArgumentParser, Namespace

from smfh.home import SCRIPT, home
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh app                                    opens it in your browser
  python -m smfh app --port 8600
  python -m smfh app --address 0.0.0.0 --headless       for other machines to visit"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, default=8501, help="where it listens (default 8501)")
    add("--address", help="for whom: localhost (default) for this machine, 0.0.0.0 for all others too")
    add("--headless", action="store_true", help="open no browser here")


def run(arguments: Namespace) -> None:
    """Become the server, so that whoever stops this program stops it."""
    script = home() / SCRIPT
    if not script.is_file():
        raise InputError(f"The app's pages are not there: {script} is missing. Install the program again.")
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={arguments.port}"]
    command += ["--server.showEmailPrompt=false"]
    command += [f"--server.address={arguments.address}"] if arguments.address else []
    command += ["--server.headless=true"] if arguments.headless else []
    os.execv(sys.executable, command)  # noqa: S606
