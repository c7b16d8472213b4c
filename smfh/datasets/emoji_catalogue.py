"""The built-in emoji as one file: items, pictures, and what is measured in them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smfh.features.image import BLOCKS, ORIENTATIONS, Measurements, VisualWords
from smfh.features.text import words
from smfh.files import Array, guarded, read_json, read_npz, write_npz
from smfh.home import home
from smfh.types import InputError, IntArray

FILE = home() / "assets" / "emoji.npz"
WAY_OUT = "Fetch assets/emoji.npz again with the program, or make it anew: python -m smfh data emoji --remake"
PATCH = 4 * ORIENTATIONS  # numbers that tell of a patch
PICTURES = ("thumbnails", "ends", "gradients", "colours", "learnt_from", "codebook", "counts")


@dataclass(frozen=True)
class EmojiItem:
    """One emoji without a skin tone."""

    characters: str
    name: str
    keywords: Sequence[str]
    group: str
    subgroup: str
    names: Mapping[str, str]  # by language

    @property
    def text(self) -> str:
        """Every word of name and keywords once."""
        return " ".join(dict.fromkeys(words(" ".join((self.name, *self.keywords)))))

    @property
    def is_country_flag(self) -> bool:
        return self.subgroup == "country-flag"


@dataclass(frozen=True, eq=False)
class Sheet:
    """The pictures of a catalogue, in its order."""

    thumbnails: Sequence[bytes]  # WebP on white: dark outlines would vanish on a dark page
    measured: Measurements
    learnt_from: IntArray  # training rows of the usual split: the visual words come from them alone
    words: VisualWords
    counts: NDArray[np.uint8]  # (items, words), of those visual words in every picture


def read_catalogue(path: Path = FILE) -> list[EmojiItem]:
    """All emoji that have a drawing, in Unicode's own order; skin tones are left out."""
    with _with_way_out(path):
        entries = read_json(read_npz(path, ["catalogue"])["catalogue"].tobytes())
        return [_item(**entry) for entry in entries]


def _item(
    characters: str, name: str, keywords: Sequence[str], group: str, subgroup: str, names: Mapping[str, str]
) -> EmojiItem:
    """An item whose every value is of its kind, whatever the file says."""
    words = {str(language): str(text) for language, text in names.items()}
    return EmojiItem(str(characters), str(name), [*map(str, keywords)], str(group), str(subgroup), words)


def read_sheet(path: Path = FILE) -> Sheet:
    """The pictures with their measurements, and the visual words of the usual split."""
    with _with_way_out(path):
        arrays = read_npz(path, PICTURES)
        files, ends = arrays["thumbnails"].tobytes(), arrays["ends"].tolist()
        gradients = arrays["gradients"].reshape(-1, BLOCKS, BLOCKS, 2, 2, ORIENTATIONS)
        colours, codebook = (len(ends), arrays["colours"].shape[1]), (arrays["counts"].shape[1], PATCH)
        for part, shape in (
            ("colours", colours),
            ("codebook", codebook),
            ("counts", (len(ends), codebook[0])),
        ):
            if arrays[part].shape != shape or arrays[part].dtype.kind not in "uf":
                raise InputError(
                    f"{part} in {path.name} should be numbers {shape}; got {arrays[part].shape}."
                )
        if len(gradients) != len(ends) or not np.isfinite(arrays["codebook"]).all():
            raise InputError(f"{path.name} has not as many measurements as pictures, or some are no numbers.")
        return Sheet(
            [files[start:end] for start, end in zip([0, *ends], ends, strict=False)],
            Measurements(gradients, arrays["colours"]),
            arrays["learnt_from"],
            VisualWords(arrays["codebook"]),
            arrays["counts"],
        )


@contextmanager
def _with_way_out(path: Path) -> Iterator[None]:
    """Whatever is wrong with the file is told together with what to do about it."""
    try:
        with guarded(path.name):
            yield
    except InputError as error:
        raise InputError([*error.problems, WAY_OUT]) from error


def write_emoji(path: Path, items: Sequence[EmojiItem], sheet: Sheet) -> None:
    """Catalogue and pictures as the one file that the readers above expect."""
    catalogue = json.dumps([asdict(item) for item in items], ensure_ascii=False).encode()
    arrays: dict[str, Array] = {
        "catalogue": np.frombuffer(catalogue, dtype=np.uint8),
        "thumbnails": np.frombuffer(b"".join(sheet.thumbnails), dtype=np.uint8),
        "ends": np.cumsum([len(file) for file in sheet.thumbnails], dtype=np.uint32),
        "gradients": sheet.measured.gradients.reshape(len(items), -1),
        "colours": sheet.measured.colours,
        "learnt_from": sheet.learnt_from.astype(np.uint16),
        "codebook": sheet.words.codebook,
        "counts": sheet.counts,
    }
    write_npz(path, arrays, level=9)
