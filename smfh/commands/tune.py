"""tune: choose a method's weights on validation parts of training data, over several sets at once."""

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from functools import partial

from smfh.commands import options
from smfh.datasets import make_source
from smfh.tuning import TUNED, VALIDATION_SHARE, Trial, tune, validation_sets
from smfh.types import collect_problems

EPILOG = """Queries are never looked at: a part of each set's training rows asks the rest of them, by
both protocols.

examples:
  python -m smfh tune --datasets wiki planted --lengths 16 64 --trials 60
  python -m smfh tune --method smfh --datasets wiki --trials 20"""
SHOWN = 10


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--datasets", nargs="+", default=["wiki", "planted"], metavar="DATASET")
    parser.add_argument(
        "--lengths", nargs="+", type=int, default=[16, 64], metavar="BITS", help="code lengths"
    )
    parser.add_argument("--folds", type=int, default=2, help="validation parts a set (default 2)")
    parser.add_argument(
        "--trials", type=int, default=40, help="settings tried, the defaults first (default 40)"
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder with the benchmark files")
    parser.add_argument("--json", action="store_true", help="print all trials as JSON")
    options.add_method_arguments(parser, default="smfh-plus")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    method, _, _, *sources = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: options.check_count("--trials", arguments.trials),
        lambda: options.check_count("--folds", arguments.folds),
        *(partial(make_source, name) for name in arguments.datasets),
    )
    sets = list(validation_sets(sources, arguments.folds, method.seed))
    with options.progress_bar(arguments.trials, "trial") as bar:

        def show(trial: Trial) -> None:
            bar.set_postfix(score=f"{trial.score:.4f}")
            bar.update()

        tuning = tune(method, sets, arguments.lengths, arguments.trials, show)
    if arguments.json:
        print(json.dumps([asdict(trial) for trial in tuning.trials], indent=2))
        return
    print(
        f"{method.title}: mean mAP@100 over {', '.join(arguments.datasets)}; {arguments.folds} validation "
        f"parts of {VALIDATION_SHARE:.0%} of the training rows; "
        f"{', '.join(map(str, arguments.lengths))} bits; every direction; both protocols\n"
    )
    names = [name for name in TUNED if name in tuning.start.parameters]
    print(f"{'':<8}" + "".join(f"{name:>22}" for name in names) + f"{'score':>9}{'gain ± s.e.':>18}   by set")
    for label, trial in [
        ("start", tuning.start),
        *((f"{i}", t) for i, t in enumerate(tuning.trials[:SHOWN], 1)),
    ]:
        weights = "".join(f"{trial.parameters[name]:>22.4g}" for name in names)
        by_set = ", ".join(f"{name} {score:.3f}" for name, score in trial.by_set.items())
        print(
            f"{label:<8}{weights}{trial.score:>9.4f}{trial.gain:>+9.4f} ± {trial.gain_error:.4f}   {by_set}"
        )
