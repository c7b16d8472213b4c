"""The numbers printed in the paper (Liu, Ji, Wu & Hua, IJCAI 2016), reasons for differences, and errata."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TASKS: Mapping[str, str] = {"text->image": "Task 1", "image->text": "Task 2"}
ENDS: Mapping[str, tuple[str, str]] = {"text->image": ("text", "image"), "image->text": ("image", "text")}
COLUMNS = (("map", 32), ("map", 64), ("map", 128), ("p_at_100", 32), ("p_at_100", 64))
TABLE_2_BITS = (32, 64)
TIME_COLUMNS = tuple((dataset, bits) for dataset in ("pascal", "wiki", "nus-wide") for bits in TABLE_2_BITS)
TOLERANCE = 0.03  # larger differences between measured and published scores are marked
CITATION = "H. Liu, R. Ji, Y. Wu, G. Hua: Supervised Matrix Factorization for Cross-Modality Hashing. IJCAI 2016."
REASONS: Mapping[str, str] = {
    "smfh": "runs with different random seeds differ by up to 0.03 at 32 bits",
    "smfh-program": "the paper does not say whether this program or the method in its text produced the row",
    "pdh": "the settings of this row are not published, and no setting we tried reproduces all of it",
    "cvh": "bits beyond the canonical pairs are random, and the paper does not say how it chooses them",
}
ROW = {"smfh-program": "smfh"}  # method → row of Table 1 to compare it with, if it has another name

# Table 1; the columns are COLUMNS.
TABLE_1: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]] = {
    "wiki": {
        "text->image": {
            "cvh": (0.2053, 0.1872, 0.2039, 0.1504, 0.1324),
            "pdh": (0.2034, 0.2047, 0.2133, 0.1765, 0.1725),
            "cmfh": (0.5947, 0.6063, 0.6131, 0.5492, 0.5649),
            "smh": (0.3831, 0.4032, 0.4171, 0.3135, 0.3400),
            "smfh": (0.6039, 0.6602, 0.6658, 0.5581, 0.6246),
        },
        "image->text": {
            "cvh": (0.1660, 0.1479, 0.1572, 0.1280, 0.1170),
            "pdh": (0.2442, 0.2360, 0.2685, 0.2058, 0.1945),
            "cmfh": (0.2081, 0.2111, 0.2270, 0.1691, 0.1678),
            "smh": (0.2301, 0.2503, 0.2570, 0.1953, 0.2186),
            "smfh": (0.2516, 0.2581, 0.2496, 0.2168, 0.2330),
        },
    },
    "nus-wide": {
        "text->image": {
            "cvh": (0.4480, 0.4184, 0.4012, 0.4606, 0.4281),
            "pdh": (0.5008, 0.5078, 0.5336, 0.4885, 0.5018),
            "cmfh": (0.3807, 0.3787, 0.3663, 0.3764, 0.3750),
            "smh": (0.5978, 0.6162, 0.6195, 0.6007, 0.6194),
            "smfh": (0.5462, 0.6633, 0.6247, 0.5478, 0.6757),
        },
        "image->text": {
            "cvh": (0.4592, 0.4260, 0.4021, 0.4700, 0.4333),
            "pdh": (0.5129, 0.5260, 0.5377, 0.4988, 0.5224),
            "cmfh": (0.3818, 0.3774, 0.3664, 0.3787, 0.3766),
            "smh": (0.5823, 0.6020, 0.6089, 0.5829, 0.6039),
            "smfh": (0.5938, 0.6325, 0.6175, 0.5985, 0.6380),
        },
    },
}

# Table 2, training seconds on a 3.60 GHz Core i5-4790 with 16 GB; the columns are TIME_COLUMNS.
TABLE_2: Mapping[str, tuple[float, ...]] = {
    "cvh": (5.84, 5.18, 0.14, 0.04, 3.31, 3.25),
    "pdh": (278.19, 350.73, 1.34, 2.44, 736.81, 1461.71),
    "cmfh": (324.87, 335.41, 0.32, 0.59, 1579.1, 1782.6),
    "smh": (26.26, 33.31, 0.31, 0.59, 20.74, 40.53),
    "smfh": (5.89, 6.16, 0.56, 0.71, 73.94, 88.04),
}


def published_score(dataset: str, direction: str, method: str, measure: str, bits: int) -> float | None:
    """Return a score of Table 1, or None if the paper has no such cell."""
    row = TABLE_1.get(dataset, {}).get(direction, {}).get(method)
    return row[COLUMNS.index((measure, bits))] if row and (measure, bits) in COLUMNS else None


def published_seconds(dataset: str, method: str, bits: int) -> float | None:
    """Return the training seconds in Table 2, or None if the paper has no such cell."""
    row, column = TABLE_2.get(method), (dataset, bits)
    return row[TIME_COLUMNS.index(column)] if row and column in TIME_COLUMNS else None


@dataclass(frozen=True)
class Erratum:
    """An error in the paper: the printed and the corrected formula in LaTeX, and the reason."""

    where: str
    printed: str
    right: str
    why: str


_TEXTS = tomllib.loads(Path(__file__).with_name("errata.toml").read_text(encoding="utf-8"))
ERRATA = tuple(Erratum(**erratum) for erratum in _TEXTS["errata"])
EQUATION_NOTE: str = _TEXTS["equation_note"]
NOT_AN_ERROR: str = _TEXTS["not_an_error"]
CONTRADICTED_CLAIMS: tuple[str, ...] = tuple(_TEXTS["contradicted_claims"])
NOT_REPRODUCED: tuple[tuple[str, str], ...] = tuple((one["what"], one["why"]) for one in _TEXTS["not_reproduced"])
