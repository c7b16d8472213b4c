"""Pictures with captions → a data set, its features fitted on the training rows alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from smfh.datasets.source import OnProgress
from smfh.features.image import ImageEncoder, Measurements, fit_visual_words, measure, stack
from smfh.features.pictures import decode_image, thumbnail
from smfh.features.text import fit_bag_of_words
from smfh.types import BoolArray, Encoder, InputError, IntArray, Matrix, MultimodalDataset

MAX_TOKENS = 5_000
MAX_TOTAL_PIXELS = 10_000_000_000  # some minutes of decoding


@dataclass(frozen=True, eq=False)
class Look:
    """What is kept of a picture that was decoded."""

    thumbnail: bytes
    measured: Measurements  # of this picture alone


@dataclass(eq=False)
class Looks:
    """What was seen of pictures by their names, so that none is decoded twice."""

    seen: dict[str, Look] = field(default_factory=dict)
    problems: dict[str, Sequence[str]] = field(default_factory=dict)  # of those that cannot be used
    pixels: int = 0

    def look_at(
        self, pictures: Iterable[str], read: Callable[[str], bytes], on_progress: OnProgress | None = None
    ) -> None:
        """Decode those that were not seen before, until patience with pixels ends."""
        known = self.seen.keys() | self.problems.keys()
        new = [name for name in dict.fromkeys(pictures) if name not in known]
        for done, name in enumerate(new, start=1):
            if self.pixels > MAX_TOTAL_PIXELS:
                return
            try:
                pixels = decode_image(read(name), name)
                self.pixels += pixels.size // 3
                if self.pixels > MAX_TOTAL_PIXELS:
                    limit = f"{MAX_TOTAL_PIXELS // 1_000_000:,} million pixels"
                    raise InputError(f"With {name} the pictures have more than {limit}. Save them smaller.")
                self.seen[name] = Look(thumbnail(pixels), measure([pixels]))
            except InputError as error:
                self.problems[name] = error.problems
            if on_progress:
                on_progress(done / len(new), "Looking at the pictures")


def captioned_pictures(
    name: str,
    pictures: Sequence[Look],
    captions: Mapping[str, Sequence[str]],
    labels: BoolArray,
    class_names: tuple[str, ...],
    train: IntArray,
    seed: int,
) -> MultimodalDataset:
    """`pictures` has what was seen in each row; `captions` has the texts of each further modality."""
    measured = stack([picture.measured for picture in pictures])
    image = ImageEncoder(fit_visual_words(measured.take(train), seed=seed))
    modalities: dict[str, Matrix] = {"image": image.features(measured)}
    encoders: dict[str, Encoder] = {"image": image}
    for modality, sentences in captions.items():
        encoder = fit_bag_of_words([sentences[row] for row in train], max_tokens=MAX_TOKENS)
        modalities[modality], encoders[modality] = encoder.encode(sentences), encoder
    shown = [" · ".join(texts) for texts in zip(*captions.values(), strict=True)]
    thumbnails = [picture.thumbnail for picture in pictures]
    return MultimodalDataset(name, modalities, labels, class_names, shown, thumbnails, encoders)
