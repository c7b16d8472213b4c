"""python -m smfh: the same things without a browser."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from smfh.commands import bench, compare, data, evaluate, fit, paper, tune
from smfh.types import InputError

COMMANDS = {
    "data": data,
    "fit": fit,
    "evaluate": evaluate,
    "compare": compare,
    "paper": paper,
    "tune": tune,
    "bench": bench,
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
    for name, module in COMMANDS.items():
        module.add_arguments(
            commands.add_parser(
                name,
                help=module.HELP,
                description=module.__doc__,
                epilog=module.EPILOG,
                formatter_class=RawDescriptionHelpFormatter,
            )
        )
    chosen = parser.parse_args(arguments)
    try:
        COMMANDS[chosen.command].run(chosen)
    except InputError as error:
        print("\n".join(f"error: {problem}" for problem in error.problems), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; nothing half-done was saved", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
