"""Open the explorer in a browser."""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from smfh.features.embedding import check_encoder
from smfh.folders import APP_SCRIPT, DATA_FOLDER, ENCODER, app_folder
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh app                                    open it in your browser
  python -m smfh app --port 8600
  python -m smfh app --data photos                      open a folder of your own on the Data page
  python -m smfh app --address 0.0.0.0 --host smfh.example.org --headless   let other machines connect"""
LOCAL = ("localhost", "127.0.0.1", "::1")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, default=8501, help="port of the server (default 8501)")
    add("--address", help="who can connect: localhost (default) for this machine only, 0.0.0.0 for all machines")
    add("--host", nargs="+", help="host names under which other machines may open it (default: any)")
    add("--data", metavar="FOLDER", help="open this folder or file on the Data page; only without --address")
    add("--encoder", metavar="NAME[=FOLDER]", help="encoder to select at first: clip or siglip2, as in `fit`")
    add("--headless", action="store_true", help="do not open a browser")


def run(arguments: Namespace) -> None:
    """Run the server in place of this process, so that stopping the command stops the server."""
    script = app_folder() / APP_SCRIPT
    if not script.is_file():
        raise InputError(f"The app's pages are missing: there is no {script}. Install the program again.")
    is_local = arguments.address in (None, *LOCAL)
    if arguments.data is not None:
        if not is_local or not Path(arguments.data).exists():
            got = f"got {arguments.data}" if is_local else f"others can reach {arguments.address}"
            raise InputError(f"--data needs a folder or file on this machine, and no --address; {got}.")
        os.environ[DATA_FOLDER] = str(Path(arguments.data).absolute())
    if arguments.encoder is not None:
        check_encoder(arguments.encoder)
        os.environ[ENCODER] = arguments.encoder
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={arguments.port}"]
    command += ["--server.showEmailPrompt=false"]
    command += [f"--server.address={arguments.address}"] if arguments.address else []
    for host in arguments.host or ([] if is_local else ["*"]):
        command.append(f"--server.allowedHosts={host}")
    command += ["--server.headless=true"] if arguments.headless else []
    os.execv(sys.executable, command)  # noqa: S606
