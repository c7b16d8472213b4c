"""python -m smfh: the same things without a browser."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module

from smfh.types import InputError

COMMANDS = {
    "app": "open the explorer in the browser",
    "data": "list the data sets, or look into one",
    "fit": "train a method on a data set and score it",
    "shard": "write a data set as shards, to train beyond one memory or one machine",
    "evaluate": "score a saved model on a data set",
    "compare": "train methods with several lengths and seeds, and put their scores side by side",
    "paper": "measure Tables 1 and 2 of the paper beside their published numbers",
    "tune": "choose a method's weights on validation parts of training data",
    "export": "take a saved model along: a search page in one file, or codes for engines people run",
    "bench": "measure speed as ratios against named rivals",
}
DESCRIPTION = """Supervised Matrix Factorization for Cross-Modality Hashing (SMFH, IJCAI-16): pictures
and texts become short binary codes, so that words find pictures and pictures find words by
counting bits."""
EPILOG = """Start with `python -m smfh fit planted`, which needs no files. The benchmarks are found in
the folder that the variable SMFH_DATA or the option --data names. Every command explains
itself: `python -m smfh fit --help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("python -m smfh", description=DESCRIPTION, epilog=EPILOG)
    parser.formatter_class = RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    given = sys.argv[1:] if arguments is None else arguments
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words, formatter_class=RawDescriptionHelpFormatter)
        if name in given[:1]:  # what is not asked for is not loaded
            module = import_module(f"smfh.commands.{name}")
            command.description, command.epilog = module.__doc__, module.EPILOG
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    chosen = parser.parse_args(given)
    try:
        import_module("smfh.datasets.cache").clear_all_left_over()
        chosen.run(chosen)
    except InputError as error:
        print("\n".join(f"error: {problem}" for problem in error.problems), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; nothing half-done was saved", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
