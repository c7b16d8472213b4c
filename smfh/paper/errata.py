"""Errata of the paper: wrong equations, contradicted claims, and results not reproduced.

The texts are in errata.toml.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_TEXTS = tomllib.loads(Path(__file__).with_name("errata.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Erratum:
    """An error in the paper: the printed and the corrected formula in LaTeX, and the reason."""

    where: str
    printed: str
    right: str
    why: str


ERRATA = tuple(Erratum(**erratum) for erratum in _TEXTS["errata"])
EQUATION_NOTE: str = _TEXTS["equation_note"]
NOT_AN_ERROR: str = _TEXTS["not_an_error"]
CONTRADICTED_CLAIMS: tuple[str, ...] = tuple(_TEXTS["contradicted_claims"])
NOT_REPRODUCED: tuple[tuple[str, str], ...] = tuple((one["what"], one["why"]) for one in _TEXTS["not_reproduced"])
