"""What a visitor compares and how it is looked at, as one value that the link carries."""

from dataclasses import dataclass
from typing import Any

from smfh.evaluation import PROTOCOLS
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.ui.address import any_text, one_of, part_of, several, switch, told, whole

LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_SEEDS, MOST_RADIUS = 10, 8
PRESETS = {
    "usual": "as they come",
    "paper": "as in the paper, where it names them",
    "strong": "strong presets, where there are some",
}


def _length(name: str, text: str) -> int:
    return int(one_of(list(map(str, LENGTHS)))(name, text))


@dataclass(frozen=True)
class Wanted:
    """The comparison and the view of it."""

    methods: tuple[str, ...] = told(tuple(METHODS), several(one_of(METHODS), least=1))
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
        usual = [make_method(name, **_preset(name, self.preset, dataset)) for name in self.methods]
        return (*usual, own) if self.own else tuple(usual)


def _preset(name: str, wanted: str, dataset: str) -> dict[str, Any]:
    """The paper names some settings for each data set."""
    offered = METHODS[name].preset_names(dataset)
    names = (dataset, "paper") if wanted == "paper" else (wanted,)
    return next((METHODS[name].preset_values(choice) for choice in names if choice in offered), {})


WANTED = part_of(Wanted(), "compare.")
