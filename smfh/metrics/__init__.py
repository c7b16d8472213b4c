"""Measures of ranking quality: average precision by several definitions, curves, significance."""

from smfh.metrics.definitions import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.graded import GRADED, PAIR_RETRIEVAL, ndcg, ranked_gains
from smfh.metrics.precision import TiedAP, average_precision, chance, chance_average_precision, tied_average_precision
from smfh.metrics.scores import (
    APScore,
    RadiusCurve,
    RankedQueries,
    Scores,
    measure_ties,
    precision_curve,
    radius_curve,
    recall_curve,
    score,
)
