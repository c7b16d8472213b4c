"""Rows of items with their pictures, drawn in one go: what moves with a slider must not flicker.

Names are set as text, never as markup.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import streamlit as st

from smfh.datasets import DATASETS
from smfh.lessons.evidence import Wall
from smfh.types import MultimodalDataset
from smfh.ui.gallery import caption_of
from smfh.ui.items import pictures_of

SIDE = 72  # pixels of a small picture's file
_WALLS = st.components.v2.component(
    "smfh_walls",
    html="""<div class="walls"></div>""",
    css="""
    .walls { color: var(--st-text-color); font-family: var(--st-font); display: flex; flex-wrap: wrap;
      gap: .3rem 2rem; }
    section { min-width: 0; }
    h4 { margin: .2rem 0; font-size: .85rem; font-weight: 600; }
    ul { display: flex; flex-wrap: wrap; gap: .35rem; margin: 0; padding: 0; list-style: none; }
    li { width: 4.3rem; text-align: center; font-size: .7rem; }
    img { width: 3rem; height: 3rem; object-fit: contain; background: #fff; border-radius: 5px; }
    .wrong img { opacity: .3; }
    span { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    p { margin: 0; font-size: .8rem; opacity: .8; }
    """,
    js="""
    const make = (kind, text) => Object.assign(document.createElement(kind), { textContent: text ?? "" })

    export default function ({ data, parentElement }) {
      parentElement.querySelector(".walls").replaceChildren(...data.map((wall) => {
        const section = make("section"), list = make("ul")
        section.append(make("h4", wall.title), wall.items.length ? list : make("p", "nothing"))
        for (const item of wall.items) {
          const line = make("li"), picture = make("img")
          const said = `${item.right ? "" : "✗ "}${item.name}`
          if (!item.right) line.classList.add("wrong")
          Object.assign(picture, { src: item.picture, alt: said, title: said })
          line.append(picture, make("span", said), ...item.notes.map((note) => make("span", note)))
          list.append(line)
        }
        return section
      }))
    }
    """,
)


@dataclass(frozen=True)
class Item:
    """A picture with its name."""

    name: str
    picture: str  # an address
    right: bool = True  # else it is faded, and crossed
    notes: Sequence[str] = ()


def items_of(data: MultimodalDataset, wall: Wall, notes: Sequence[Sequence[str]] = ()) -> list[Item]:
    """The items of a wall, with what stands below each."""
    told, pictures = notes or [()] * len(wall.rows), addresses_of(data, wall.rows)
    return [
        Item(caption_of(data, row), picture, right, note)
        for row, picture, right, note in zip(wall.rows, pictures, wall.right, told, strict=True)
    ]


def show_walls(walls: Sequence[tuple[str, Sequence[Item]]], key: str) -> None:
    """Rows of items, each under its title; they wrap where there is no room."""
    told = [{"title": title, "items": [asdict(item) for item in items]} for title, items in walls]
    _WALLS(data=told, key=key)


def addresses_of(data: MultimodalDataset, rows: Sequence[int] | None = None) -> list[str]:
    """Of the pictures of these items, or of all; those of own data are not remembered."""
    address = _remembered if data.name in DATASETS else small_picture
    return [address(look) for look in pictures_of(data, range(len(data)) if rows is None else rows, None)]


def small_picture(picture: bytes) -> str:
    """The picture as an address that holds it, small."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=80)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


_remembered = lru_cache(maxsize=4096)(small_picture)
