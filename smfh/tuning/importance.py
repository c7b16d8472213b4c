"""How much each parameter decides the score, by Optuna's own analysis."""

from collections.abc import Collection

import optuna

from smfh.tuning.study import Study

FEWEST = 8  # complete trials, below which nothing can be said


def importances(study: Study, among: Collection[int] | None = None) -> dict[str, float]:
    """The share of the goal's variance that each tuned parameter explains (fANOVA), the largest first.

    Of a front, that of its first objective. Empty where too few trials are complete, or all did alike.
    With `among` of these trials alone.
    """
    complete = [
        trial
        for trial in study.trials
        if trial.state == "complete" and not trial.is_start and (among is None or trial.number in among)
    ]
    if len(complete) < FEWEST or len({trial.values[0] for trial in complete}) < 2:
        return {}
    names = [one.name for one in study.plan.ranges]
    target = (lambda trial: trial.values[0]) if study.plan.goal.has_front else None
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    inner = study.optuna
    if among is not None:
        inner = optuna.create_study(directions=study.plan.goal.directions)
        inner.add_trials([one for one in study.optuna.get_trials(deepcopy=False) if one.number in among])
    found = optuna.importance.get_param_importances(inner, evaluator=evaluator, params=names, target=target)
    return {name: float(share) for name, share in found.items()}
