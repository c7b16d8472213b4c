"""What the features allow: the rankings of a tuned classifier, to be read beside those of codes.

    ceiling = measure_ceiling(data, split)
    ceiling.scores["text", "image", "unseen"]["full"]

It is no bound: codes may do better by a score that can be gamed. But a classifier is free of bits and of a
common space, so what lies between codes and it is what a better method could win from the same features.
Beside chance it is to be read with care where the database is the training set: whole classes in a random
order, which takes no features at all, are already better than items in a random order.
"""

from smfh.ceiling.classifiers import Posteriors, choose_classifier
from smfh.ceiling.measure import Ceiling, Search, measure_ceiling
