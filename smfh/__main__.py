"""The command line, `python -m smfh`: train, compare, tune, export and more."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from smfh.types import InputError

COMMANDS = {
    "app": "open the explorer in a browser",
    "data": "list the data sets, or show what is in one",
    "fit": "train a method on a data set and score it",
    "shard": "write a data set as shards, to train on data larger than memory or on several machines",
    "evaluate": "score a saved model on a data set",
    "compare": "train methods with several code lengths and seeds, and compare their scores",
    "paper": "measure Tables 1 and 2 of the paper and show the published numbers beside them",
    "tune": "choose a method's parameters on validation folds of the training items",
    "search": "search a data set with words or pictures",
    "export": "export a saved model as a search page, or its codes to other search engines",
    "bench": "compare the speed of this program with that of others",
    "guide": "measure the numbers in the tables of README and guide, and write them",
    "results": "compute the results that are shipped with the program",
    "check": "check a plug-in: a file with a method or data set of your own",
}
DESCRIPTION = """Supervised Matrix Factorization for Cross-Modality Hashing (SMFH, IJCAI-16). Pictures and
texts become short binary codes; the fewer bits differ, the better a picture matches a text."""
EPILOG = """Start with `python -m smfh fit planted`, which needs no files. Benchmark data sets are read from
the folder named by the environment variable SMFH_DATA or the option --data. For the options of a
command: `python -m smfh fit --help`."""


def add_plugin_option(parser: ArgumentParser) -> ArgumentParser:
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="load methods and data sets from a Python file; works with every command, can be repeated",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status: 0 for success, 2 for wrong input, 130 if interrupted."""
    parser = ArgumentParser("python -m smfh", description=DESCRIPTION, epilog=EPILOG)
    parser.formatter_class = RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_plugin_option(parser)
    options, given = add_plugin_option(ArgumentParser(add_help=False)).parse_known_args(arguments)
    if options.plugin:
        paths = [str(Path(path).resolve()) for path in options.plugin]
        os.environ["SMFH_PLUGINS"] = os.pathsep.join(paths)
    if given[:1] not in (["check"], ["app"]):  # these two load plug-ins themselves
        for plugin in import_module("smfh.plugins").load_plugins():
            if plugin.problem:
                print(f"The plug-in {plugin.origin} was skipped: {plugin.problem}", file=sys.stderr)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, formatter_class=RawDescriptionHelpFormatter)
        if name in given[:1]:  # importing all commands would take seconds
            module = import_module(f"smfh.commands.{name}")
            command.description, command.epilog = module.__doc__, module.EPILOG
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    chosen = parser.parse_args(given)
    try:
        import_module("smfh.files.atomic").remove_all_leftovers()
        chosen.run(chosen)
    except InputError as error:
        print("\n".join(f"error: {problem}" for problem in error.problems), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; no incomplete files were saved", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
