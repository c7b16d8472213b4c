"""The choice of parameters, on validation parts of training rows and never on the queries."""

from smfh.tuning.search import TUNED, Trial, Tuning, tune
from smfh.tuning.validation import VALIDATION_SHARE, ValidationSet, validation_scores, validation_sets
