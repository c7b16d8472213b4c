"""The lessons: a question, what to move, what to look at, and how the answer is worked out from kept runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from smfh.comparison import Comparison
from smfh.datasets import DATASETS
from smfh.hashing import SMFH, SMFHPlus
from smfh.lessons.evidence import Evidence, Worked
from smfh.lessons.meaning import directions, one_bit
from smfh.lessons.measuring import one_seed, test_set, ties
from smfh.lessons.weights import length, sample, two_truths

EMOJI = DATASETS["emoji"]()  # comes with the program: a lesson needs no file
ALL = 1_000_000  # items: more than there are
QUICK = SMFHPlus(
    anchors=500, width=1.0, ridge=0.02
)  # takes a second; named, so that lessons stay as they are
ALPHAS = Comparison(
    EMOJI,
    tuple(replace(QUICK, graph_weight=a) for a in (0.0, 1.0, 5.0, 10.0, 20.0, 35.0, 75.0, 150.0, 400.0)),
    (64,),
    1,
)
SAMPLES = Comparison(EMOJI, tuple(SMFH(graph_sample=m) for m in (20, 100, 300, 700, ALL)), (32,), 1)
LENGTHS = Comparison(EMOJI, (QUICK,), (8, 16, 32, 64, 128), 1)
SEEDS = Comparison(EMOJI, (QUICK, replace(QUICK, graph_weight=20.0)), (16,), 8)


@dataclass(frozen=True)
class Lesson:
    """What a page asks, and the runs that answer it."""

    title: str
    question: str
    move: str
    look: str
    runs: Comparison
    work_out: Callable[[Evidence], Worked]


LESSONS: Mapping[str, Lesson] = MappingProxyType(
    {
        "two-truths": Lesson(
            "Two truths",
            "How strongly should items of one class be pulled together?",
            "Move α from 0, where no label pulls (only the start knows them), up until every class has "
            "one code.",
            "Do the two scores agree about the best α? Watch the number of different codes, and the "
            "pictures.",
            ALPHAS,
            two_truths,
        ),
        "sample": Lesson(
            "A sample of the labels",
            "Must every item feel the labels in every iteration?",
            "Move m, the items that are drawn in each iteration.",
            "How few suffice? And do all of them take longer?",
            SAMPLES,
            sample,
        ),
        "length": Lesson(
            "Longer codes",
            "Are more bits always better?",
            "Move the number of bits.",
            "The ranking on the one side; on the other what a look-up within 2 bits still finds.",
            LENGTHS,
            length,
        ),
        "seed": Lesson(
            "One seed lies",
            "Two settings, one table: which is better?",
            "Move the seed, the random start of the training.",
            "Who wins? Would you have written it down after one seed?",
            SEEDS,
            one_seed,
        ),
        "ties": Lesson(
            "Ties",
            "Two rankings have the very same distances. Can their scores differ?",
            "Move the number of bits.",
            "How far the best and the worst order of equals lie apart, and that both show other pictures.",
            LENGTHS,
            ties,
        ),
        "directions": Lesson(
            "Words and pictures",
            "Why do words find pictures better than pictures find words?",
            "Move through the classes.",
            "The same database, asked twice: which questions fail?",
            SEEDS,
            directions,
        ),
        "bit": Lesson(
            "What a bit means",
            "Does a bit stand for something?",
            "Move through the bits of two trainings that differ in their seed alone.",
            "What a bit is on for, how many classes that is, and what the same number does in the other one.",
            SEEDS,
            one_bit,
        ),
        "test-set": Lesson(
            "Tuning on the test set",
            "Try some settings, keep the best, report its score. What is wrong with that?",
            "Move how many are tried.",
            "The score that is reported, and what the chosen setting has on queries it was not chosen by.",
            SEEDS,
            test_set,
        ),
    }
)
