"""PASCAL-Sentence (Rashtchian et al., 2010): a thousand photographs with five sentences each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smfh.datasets.captioned import Looks, captioned_pictures
from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress, data_root, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.files import guarded, read_json, read_text, shortened
from smfh.types import InputError, MultimodalDataset, Split

FOLDER = "pascal_sentence"
SENTENCES, PICTURES = "sentence", "dataset"
CAPTIONS_FILE = "pascal_sentences.json"
MAX_JSON = 1 << 26
TRAIN_SHARE = 0.8  # 800 of 1,000, as in the paper


@dataclass(frozen=True)
class Pair:
    """A photograph, which may be missing, and what is said of it."""

    image: str  # file name
    category: str
    sentences: tuple[str, ...]
    has_picture: bool


@dataclass(frozen=True)
class PascalSentence(DatasetSource):
    """Photographs of twenty kinds of things, each described in five sentences."""

    name = "pascal"
    card = DatasetCard(
        title="PASCAL-Sentence",
        about="Photographs in twenty categories, each described by five people. The features are computed "
        "here (the paper's own, from object detectors and WordNet, were not published).",
        size="1,000 pairs (800 training, 200 queries), 20 categories",
        terms="For research; the source states no licence, the photographs belong to their owners.",
        origin="It is on the page “PASCAL sentences” of the University of Illinois, picture by picture.",
        folder=FOLDER,
        files=(f"{PICTURES}/<category>/<image>.jpg", f"{SENTENCES}/<category>/<image>.txt"),
    )

    def missing(self) -> list[str]:
        root = data_root()
        try:
            pairs = read_pairs(root / FOLDER) if root else []
        except InputError as error:
            return list(error.problems)
        if not pairs:
            where = "is empty or not there" if root else "is looked for below SMFH_DATA (or --data)"
            return [
                f"{self.card.title} needs its files: {FOLDER}/ {where}. Expected are {self.card.files[0]} "
                f"and {self.card.files[1]}, or {CAPTIONS_FILE} with the pictures. {self.card.origin}"
            ]
        absent = [pair for pair in pairs if not pair.has_picture]
        if not absent:
            return []
        return [
            f"{self.card.title}: the sentences are there, but {len(absent):,} of {len(pairs):,} pictures are "
            f"missing, as {PICTURES}/{absent[0].category}/{absent[0].image} in {FOLDER}/. {self.card.origin}"
        ]

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """All sentences of a photograph make one text."""
        folder = self.folder
        pairs = read_pairs(folder)
        categories = tuple(sorted({pair.category for pair in pairs}))
        labels = multi_hot([[pair.category] for pair in pairs], categories)
        rows = resolve_split(split, seed, len(pairs), train_share=TRAIN_SHARE)
        names = [f"{pair.category}/{pair.image}" for pair in pairs]
        looks = Looks()
        looks.look_at(names, lambda name: (folder / PICTURES / name).read_bytes(), on_progress)
        if problems := [problem for found in looks.problems.values() for problem in found]:
            raise InputError(shortened(problems))
        pictures = [looks.seen[name] for name in names]
        texts = {"text": ["\n".join(pair.sentences) for pair in pairs]}
        data = captioned_pictures(self.name, pictures, texts, labels, categories, rows.train, seed)
        return data, rows


def read_pairs(folder: Path) -> list[Pair]:
    """All photographs, in the order of category and name, from sentence files or from the one JSON file."""
    if (folder / SENTENCES).is_dir():
        texts = sorted((folder / SENTENCES).glob("*/*.txt"))
        lines = {path: path.read_text("utf-8", "replace").splitlines() for path in texts}
        pairs = [_pair(folder, f"{path.stem}.jpg", path.parent.name, lines[path]) for path in texts]
    elif (folder / CAPTIONS_FILE).is_file():
        pairs = _read_json(folder)
    else:
        return []
    if silent := [f"{pair.category}/{pair.image} has no sentence." for pair in pairs if not pair.sentences]:
        raise InputError(shortened(silent))
    return sorted(pairs, key=lambda pair: (pair.category, pair.image))


def _read_json(folder: Path) -> list[Pair]:
    """{image name: {category, captions}}"""
    path = folder / CAPTIONS_FILE
    with guarded(path.name):
        entries = read_json(read_text(path, max_bytes=MAX_JSON))
        if not isinstance(entries, dict):
            raise InputError(f"{path.name} must map image names to category and captions.")
        if problems := [
            f"{path.name}: {image!r} must be a file name with a category and a list of captions."
            for image, entry in entries.items()
            if not _is_sound(image, entry)
        ]:
            raise InputError(shortened(problems))
        return [_pair(folder, image, one["category"], one["captions"]) for image, one in entries.items()]


def _is_sound(image: str, entry: Any) -> bool:
    """Whether the entry has its parts, and names that cannot lead out of the folder."""
    if not isinstance(entry, dict) or not isinstance(captions := entry.get("captions"), list):
        return False
    names = (image, entry.get("category"))
    plain = all(isinstance(name, str) and name == Path(name).name and "\\" not in name for name in names)
    return plain and all(isinstance(caption, str) for caption in captions)


def _pair(folder: Path, image: str, category: str, sentences: Sequence[str]) -> Pair:
    picture = folder / PICTURES / category / image
    spoken = tuple(sentence.strip() for sentence in sentences if sentence.strip())
    return Pair(image, category, spoken, picture.is_file())
