"""PASCAL-Sentence (Rashtchian et al., 2010): a thousand photographs with five sentences each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress, find_folder, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.datasets.user_pictures import PictureCache, captioned_pictures
from smfh.files import convert_errors, read_json, read_text, shortened
from smfh.types import InputError, Split

FOLDER = "pascal_sentence"
SENTENCES, PICTURES = "sentence", "dataset"
CAPTIONS_FILE = "pascal_sentences.json"
MAX_JSON_BYTES = 1 << 26
MAX_NAME_CHARACTERS = 80
TRAIN_SHARE = 0.8  # 800 of 1,000, as in the paper


@dataclass(frozen=True)
class Pair:
    """A photograph with its category and sentences; the picture file may be missing."""

    image: str  # file name
    category: str
    sentences: tuple[str, ...]
    has_picture: bool


@dataclass(frozen=True)
class PascalSentence(DatasetSource):
    """Photographs in twenty categories, each described in five sentences."""

    name = "pascal"
    card = DatasetCard(
        title="PASCAL-Sentence",
        about="Photographs in twenty categories, each described by five people. The features are computed "
        "here (those of the paper, from object detectors and WordNet, were not published).",
        size="1,000 pairs (800 training, 200 queries), 20 categories",
        terms="For research; the source states no licence, the photographs belong to their owners.",
        origin="The page “PASCAL sentences” of the University of Illinois, which links to each picture.",
        folder=FOLDER,
        files=(f"{PICTURES}/<category>/<image>.jpg", f"{SENTENCES}/<category>/<image>.txt"),
    )

    def missing(self) -> list[str]:
        card = self.card
        try:
            pairs = read_pairs(find_folder(card))
        except InputError as error:
            return list(error.problems)
        if not pairs:
            return [
                f"{card.title} needs {card.files[0]} and {card.files[1]}, or {CAPTIONS_FILE} with pictures, "
                f"in {FOLDER}/ below the data folder (set by SMFH_DATA or --data). {card.origin}"
            ]
        absent = [pair for pair in pairs if not pair.has_picture]
        if not absent:
            return []
        return [
            f"{card.title}: {len(absent):,} of {len(pairs):,} pictures are missing, such as "
            f"{PICTURES}/{absent[0].category}/{absent[0].image} in {FOLDER}/. {card.origin}"
        ]

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load the photographs and their split; the sentences of each photograph are joined into one text."""
        folder = self.folder
        pairs = read_pairs(folder)
        categories = tuple(sorted({pair.category for pair in pairs}))
        labels = multi_hot([[pair.category] for pair in pairs], categories)
        rows = resolve_split(split, seed, len(pairs), train_share=TRAIN_SHARE)
        names = [f"{pair.category}/{pair.image}" for pair in pairs]
        cache = PictureCache()
        cache.decode(names, lambda name: (folder / PICTURES / name).read_bytes(), on_progress=on_progress)
        if problems := [problem for found in cache.problems.values() for problem in found]:
            raise InputError(shortened(problems))
        pictures = [cache.decoded[name] for name in names]
        texts = {"text": ["\n".join(pair.sentences) for pair in pairs]}
        data = captioned_pictures(self.name, pictures, texts, labels, rows.train, seed, class_names=categories)
        return data, rows


def read_pairs(folder: Path) -> list[Pair]:
    """Read all pairs, sorted by category and name, from sentence files or from one JSON file.

    The JSON file has the form {image name: {"category": …, "captions": […]}}; names must not contain a path.
    """
    entries: list[tuple[str, str, Sequence[str]]] = []  # category, image and sentences
    problems = []
    if (folder / SENTENCES).is_dir():
        for path in (folder / SENTENCES).glob("*/*.txt"):
            entries.append((path.parent.name, f"{path.stem}.jpg", path.read_text("utf-8", "replace").splitlines()))
    elif (folder / CAPTIONS_FILE).is_file():
        with convert_errors(CAPTIONS_FILE):
            listed = read_json(read_text(folder / CAPTIONS_FILE, max_bytes=MAX_JSON_BYTES))
            if not isinstance(listed, dict):
                raise InputError(f"{CAPTIONS_FILE} must map image names to category and captions.")
            for image, entry in listed.items():
                match entry:
                    case {"category": str(category), "captions": [*captions]} if all(
                        isinstance(caption, str) for caption in captions
                    ) and all(name == Path(name).name and "\\" not in name for name in (image, category)):
                        entries.append((category, image, captions))
                    case _:
                        expected = "a file name with a category and a list of captions"
                        problems.append(f"{CAPTIONS_FILE}: {image!r} must be {expected}.")
    pairs = []
    for category, image, lines in sorted(entries, key=lambda entry: entry[:2]):
        sentences = tuple(line.strip() for line in lines if line.strip())
        if not sentences:
            problems.append(f"{category}/{image} has no sentence.")
        with convert_errors(image[:MAX_NAME_CHARACTERS]):  # a name may be too long for the disk
            pairs.append(Pair(image, category, sentences, (folder / PICTURES / category / image).is_file()))
    if problems:
        raise InputError(shortened(problems))
    return pairs
