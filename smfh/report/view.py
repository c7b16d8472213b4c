"""How a comparison is looked at, and what its test over queries says."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from smfh.comparison import Grid, query_precisions
from smfh.evaluation import PROTOCOLS
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.significance import Difference, compare_pairs, in_words
from smfh.store import RunStore
from smfh.types import InputError, unknown

MOST_DIRECTIONS = 6  # that tables tell: those of three modalities


@dataclass(frozen=True)
class View:
    """One direction, protocol and definition; and the length and radius of what is shown at one of them."""

    source: str  # modality of the queries
    target: str  # modality that is searched
    definition: str = "found"  # a key of AP_DEFINITIONS
    protocol: str = "training"
    bits: int = 64
    radius: int = 2

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.definition not in AP_DEFINITIONS:
            problems += unknown("definition", self.definition, AP_DEFINITIONS).problems
        if self.protocol not in PROTOCOLS:
            problems += unknown("protocol", self.protocol, PROTOCOLS).problems
        if problems:
            raise InputError(problems)

    @property
    def metric(self) -> APDefinition:
        return AP_DEFINITIONS[self.definition]

    @property
    def direction(self) -> str:
        return f"{self.source}→{self.target}"


def told_directions(grid: Grid, view: View) -> list[tuple[str, str]]:
    """All of them; where many modalities make hundreds, that of the view and its reverse."""
    if len(grid.directions) <= MOST_DIRECTIONS:
        return grid.directions
    return [(view.source, view.target), (view.target, view.source)]


def compared_pairs(grid: Grid, store: RunStore, view: View) -> list[Difference]:
    """Every pair of methods that have been trained at this length; none where there is one method."""
    AP = query_precisions(grid, store, view.bits, view.source, view.target, view.protocol, view.metric)
    if len(AP) < 2 or any(values.shape[1] < 2 for values in AP.values()):
        return []
    return compare_pairs(AP)


def sentences(pairs: Sequence[Difference], view: View) -> list[str]:
    """Each method against the next best one, in words."""
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    neighbours = set(pairwise(order))
    where = f"at {view.bits} bits, {view.direction}"
    return [in_words(pair, where) for pair in pairs if (pair.first, pair.second) in neighbours]
