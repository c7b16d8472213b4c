"""What a visitor compares and how it is looked at, as one value that the link carries."""

from dataclasses import asdict, dataclass

import streamlit as st

from smfh.comparison.measures import MOST_RADIUS
from smfh.evaluation import PROTOCOLS
from smfh.hashing import COMPARED, METHODS, HashMethod, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import paper_method
from smfh.ui.address import any_text, one_of, part_of, several, switch, told, whole

LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_SEEDS = 10
PRESETS = {
    "usual": "as they come",
    "paper": "as in the paper, where it names them",
    "strong": "strong presets, where there are some",
}
CONTROLS = "compare_"  # before the name of a field: the key of its control


def _length(name: str, text: str) -> int:
    return int(one_of(list(map(str, LENGTHS)))(name, text))


@dataclass(frozen=True)
class Wanted:
    """The comparison and the view of it."""

    methods: tuple[str, ...] = told(COMPARED, several(one_of(METHODS), least=1))
    bits: tuple[int, ...] = told((32, 64, 128), several(_length, least=1))
    seeds: int = told(5, whole(1, MOST_SEEDS))
    preset: str = told("usual", one_of(PRESETS))
    own: bool = told(False, switch)  # the sidebar's method as it is set there, too
    definition: str = told("found", one_of(AP_DEFINITIONS))
    protocol: str = told("training", one_of(PROTOCOLS))
    direction: str = told("", any_text(100))  # the usual one where it is none of the data's
    at: int = told(64, _length)  # bits of what is shown at one length
    radius: int = told(2, whole(0, MOST_RADIUS))

    def chosen_methods(self, own: HashMethod, dataset: str) -> tuple[HashMethod, ...]:
        """Each as the preset says for this data; and the visitor's own."""
        chosen = tuple(self._method(name, dataset) for name in self.methods)
        return (*chosen, own) if self.own else chosen

    def _method(self, name: str, dataset: str) -> HashMethod:
        if self.preset == "paper":
            return paper_method(name, dataset)
        is_offered = self.preset in METHODS[name].preset_names(dataset)
        return make_method(name, **METHODS[name].preset_values(self.preset) if is_offered else {})


WANTED = part_of(Wanted(), "compare.")


def begin_controls(wanted: Wanted) -> None:
    """Let the controls that hold nothing yet begin with what is wanted."""
    for name, value in asdict(wanted).items():
        st.session_state.setdefault(f"{CONTROLS}{name}", list(value) if isinstance(value, tuple) else value)
