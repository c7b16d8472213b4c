"""What bits do, which vote together, and what each stands for: mathematics, no drawing."""

from smfh.bits.counts import (
    bit_kinds,
    class_contrast,
    class_shares,
    confusion_shares,
    correlate,
    cross_counts,
    largest_classes,
)
from smfh.bits.flips import fewest_flips
from smfh.bits.topics import AGREES, FOLLOWS, BitTopic, database_bits, describe_bits, sample, shown_modality
from smfh.bits.votes import TOGETHER, Group, group_votes, seen_from
