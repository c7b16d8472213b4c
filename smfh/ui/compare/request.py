"""The settings of the Compare page, which are part of the page's link."""

from dataclasses import asdict, dataclass, replace

import streamlit as st

from smfh.datasets import CORRUPTIONS
from smfh.experiments.comparison import DEFAULT_BITS, DEFAULT_SEEDS, MAX_RADIUS, Comparison, Grid, best_method
from smfh.hamming import DISTANCES
from smfh.hashing import COMPARED, METHODS, HashMethod, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import paper_method
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.types import InputError
from smfh.ui.address import any_text, current, draw_notes, keep, link_field, one_of, part_of, several, switch, whole
from smfh.ui.server import Loaded
from smfh.ui.settings import Settings, differences

SHARES = (0, 10, 20, 30, 40, 50, 60, 80)  # of corrupted training items, in percent
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MAX_SEEDS = 10
PRESETS = {
    "best": (
        "best",
        "the preset of each method that is best on validation folds of several data sets; DCH, SCRATCH and "
        "BATCH then have the same features as SMFH+",
    ),
    "usual": ("default", "default parameters"),
    "paper": ("paper", "parameters of the paper, for methods and data that it has"),
    "strong": ("strong", "strong presets, for methods that have one"),
}
CONTROLS = "compare_"  # prefix; followed by the name of a field it is the session key of its control


def _length(name: str, text: str) -> int:
    return int(one_of(list(map(str, LENGTHS)))(name, text))


def _share(name: str, text: str) -> int:
    return int(one_of(list(map(str, SHARES)))(name, text))


@dataclass(frozen=True)
class GridRequest:
    """Methods, bits and seeds to compare, and how the runs are scored."""

    methods: tuple[str, ...] = link_field(COMPARED, several(one_of(METHODS), least=1))
    bits: tuple[int, ...] = link_field(DEFAULT_BITS, several(_length, least=1))
    seeds: int = link_field(DEFAULT_SEEDS, whole(1, MAX_SEEDS))
    preset: str = link_field("best", one_of(PRESETS))
    own: bool = link_field(False, switch)  # whether to include the method as set in the sidebar
    definition: str = link_field("found", one_of(AP_DEFINITIONS))
    protocol: str = link_field("training", one_of(PROTOCOLS))
    direction: str = link_field("", any_text(100))  # if the data has no such direction: its first one
    at: int = link_field(64, _length)  # bits of the charts that show one code length
    radius: int = link_field(2, whole(0, MAX_RADIUS))
    distance: str = link_field("hamming", one_of(DISTANCES))
    corruption: str = link_field("", one_of(("", *CORRUPTIONS)))  # of the robustness curves; "": none drawn
    shares: tuple[int, ...] = link_field((0, 20, 40, 60), several(_share))

    def chosen_methods(self, own: HashMethod, dataset: str) -> tuple[HashMethod, ...]:
        """Return the methods to compare, with parameters for this data set, and `own` if it is included."""
        chosen = []
        for name in self.methods:
            if self.preset in ("best", "paper"):
                chosen.append((best_method if self.preset == "best" else paper_method)(name, dataset))
                continue
            has_preset = self.preset in METHODS[name].preset_names(dataset)
            values = METHODS[name].preset_values(self.preset) if has_preset else {}
            chosen.append(make_method(name, **values))
        return (*chosen, own) if self.own else tuple(chosen)


REQUEST = part_of(GridRequest(), "compare.")


def choose_grid(settings: Settings, loaded: Loaded) -> Grid:
    """Draw the controls and return the grid of runs; if it is invalid, show why and end the page."""
    before, notes = current(REQUEST, CONTROLS)
    for name, value in asdict(before).items():
        st.session_state.setdefault(f"{CONTROLS}{name}", list(value) if isinstance(value, tuple) else value)
    request = _choose(before, settings)
    if request == before:
        draw_notes(notes)
    keep(REQUEST, request)
    if not request.methods or not request.bits:
        st.info("Choose at least one method and one number of bits.")
        st.stop()
    try:
        methods = request.chosen_methods(settings.method, settings.source.name)
        return Grid(Comparison(settings.source, methods, request.bits, request.seeds), *loaded)
    except InputError as error:
        st.info("These settings cannot be compared:", icon=":material/info:")
        st.text("\n".join(error.problems))
        st.stop()


def _choose(request: GridRequest, settings: Settings) -> GridRequest:
    left, right = st.columns(2, gap="large")
    with left:
        methods = st.pills(
            "Methods",
            list(METHODS),
            selection_mode="multi",
            key="compare_methods",
            format_func=lambda name: METHODS[name].title,
            wrap=True,
        )
        preset = st.segmented_control(
            "Parameters",
            list(PRESETS),
            required=True,
            key="compare_preset",
            format_func=lambda name: PRESETS[name][0],
            help="\n\n".join(f"**{title}**: {meaning}" for title, meaning in PRESETS.values()),
        )
    with right:
        bits = st.pills("Bits", LENGTHS, selection_mode="multi", key="compare_bits", wrap=True)
        seeds = st.slider("Seeds", 1, MAX_SEEDS, key="compare_seeds")
    method, own = settings.method, False
    default = replace(METHODS[method.name](), bits=method.bits, seed=method.seed)
    if changed := differences(default, method):
        own = st.toggle(f"Include {method.title} with the settings from Explore", key="compare_own")
        st.text(", ".join(changed))
    return replace(
        request,
        methods=tuple(name for name in METHODS if name in methods),
        bits=tuple(sorted(bits)),
        seeds=seeds,
        preset=preset or request.preset,
        own=own,
    )
