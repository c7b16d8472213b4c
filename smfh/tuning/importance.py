"""How much each parameter decides the score, by Optuna's own analysis."""

import optuna

from smfh.tuning.study import Study

FEWEST = 8  # complete trials, below which nothing can be said


def importances(study: Study) -> dict[str, float]:
    """The share of the goal's variance that each tuned parameter explains (fANOVA), the largest first.

    Of a front, that of its first objective. Empty where too few trials are complete, or all did alike.
    """
    complete = [trial for trial in study.trials if trial.state == "complete" and not trial.is_start]
    if len(complete) < FEWEST or len({trial.values[0] for trial in complete}) < 2:
        return {}
    names = [one.name for one in study.plan.ranges]
    target = (lambda trial: trial.values[0]) if study.plan.goal.has_front else None
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    found = optuna.importance.get_param_importances(
        study.optuna, evaluator=evaluator, params=names, target=target
    )
    return {name: float(share) for name, share in found.items()}
