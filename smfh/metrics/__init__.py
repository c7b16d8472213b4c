"""What a ranking is worth: average precision by its definitions, curves, and all of it as Scores."""

from smfh.metrics.curves import RadiusCurve, precision_curve, radius_curve, recall_curve
from smfh.metrics.definitions import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.precision import (
    TiedAP,
    average_precision,
    chance,
    chance_average_precision,
    tied_average_precision,
)
from smfh.metrics.scores import APScore, Scores, score
