"""Matrices as tables of numbers that can be clicked, entries that moved lit; items with their pictures.

Names are set as text, never as markup.
"""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st

from smfh.types import BoolArray, FloatArray

SIDE = 48  # pixels of a small picture's file
_GRIDS = st.components.v2.component(
    "smfh_grids",
    html="""<div class="groups"></div>""",
    css="""
    .groups { font-size: .8rem; color: var(--st-text-color); font-family: var(--st-font); }
    .group { margin-bottom: .5rem; }
    .group > h4 { margin: .3rem 0 .1rem; font-size: .85rem; font-weight: 600; }
    .grids { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: flex-start; }
    figure { margin: 0; max-width: 100%; overflow-x: auto; padding: 2px; }
    figcaption { white-space: nowrap; }
    details { display: inline-block; }
    summary { cursor: help; list-style: none; text-decoration: underline dotted; text-underline-offset: 3px; }
    details > p { margin: .2rem 0; white-space: normal; max-width: 20rem; font-size: .78rem; }
    table { border-collapse: separate; border-spacing: 1px; font-variant-numeric: tabular-nums; }
    th { font-weight: 400; font-size: .72rem; padding: 0 .2rem; max-width: 6rem; overflow: hidden;
      text-overflow: ellipsis; white-space: nowrap; text-align: right; }
    thead th { text-align: center; max-width: 3.2rem; }
    th img { height: 1.35rem; width: 1.35rem; vertical-align: middle; background: #fff; border-radius: 3px; }
    th.drawn { box-shadow: inset -3px 0 0 #D77F0D; }
    td { padding: 0; }
    td button { all: unset; box-sizing: border-box; display: block; min-width: 2.35rem; padding: .08rem .2rem;
      text-align: center; cursor: pointer; border-radius: 2px; }
    td button:hover, td button:focus-visible { outline: 2px solid var(--st-primary-color); }
    td button.lit { box-shadow: inset 0 0 0 2px #D77F0D; font-weight: 600; }
    td button.chosen { outline: 3px solid var(--st-primary-color); }
    td button.blank { opacity: .45; }
    .items { display: flex; flex-wrap: wrap; gap: .5rem; }
    .items div { text-align: center; width: 4.6rem; }
    .items img { height: 2.4rem; width: 2.4rem; background: #fff; border-radius: 4px; }
    .items span { display: block; font-size: .72rem; overflow: hidden; text-overflow: ellipsis;
      white-space: nowrap; }
    """,
    js="""
    const make = (kind, text, ...classes) => {
      const made = document.createElement(kind)
      if (text !== undefined) made.textContent = text
      made.classList.add(...classes.filter(Boolean))
      return made
    }
    const picture = (address, name) => {
      const made = make("img")
      Object.assign(made, { src: address, alt: name, title: name })
      return made
    }

    export default function ({ data, parentElement, setTriggerValue }) {
      const root = parentElement.querySelector(".groups")
      const open = new Set([...root.querySelectorAll("details[open]")].map((each) => each.dataset.of))
      const focused = root.getRootNode().activeElement?.dataset?.cell
      root.replaceChildren(...data.groups.map((group) => {
        const made = make("div", undefined, "group"), grids = make("div", undefined, "grids")
        made.append(make("h4", group.title), grids)
        grids.append(...group.grids.map((grid) => draw(grid, open)))
        return made
      }))
      if (data.items.length) root.append(ranking(data))
      if (focused) root.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus()

      function draw(grid, open) {
        const figure = make("figure"), caption = make("figcaption"), details = make("details")
        details.dataset.of = grid.id
        details.open = open.has(grid.id)
        details.append(make("summary", grid.title), make("p", grid.meaning))
        caption.append(details)
        const table = make("table"), head = make("thead"), body = make("tbody"), top = make("tr")
        table.setAttribute("aria-label", grid.title)
        const heading = (name) => Object.assign(make("th", name), { title: name })
        top.append(make("th"), ...grid.columns.map(heading))
        head.append(top)
        grid.cells.forEach((cells, i) => {
          const line = make("tr"), name = make("th", grid.pictures[i] ? "" : grid.rows[i])
          name.title = grid.rows[i]
          if (grid.pictures[i]) name.append(picture(grid.pictures[i], grid.rows[i]))
          if (grid.drawn[i]) name.classList.add("drawn")
          line.append(name)
          cells.forEach((text, k) => {
            const cell = make("td"), id = `${grid.id}:${i}:${k}`, shade = grid.shades[i][k]
            const classes = [grid.lit[i][k] && "lit", id === data.chosen && "chosen", !shade && "blank"]
            const button = make("button", text, ...classes)
            button.dataset.cell = id
            button.setAttribute("aria-label", `${grid.title}, ${grid.rows[i]}, ${grid.columns[k]}: ${text}`)
            const hue = shade < 0 ? "215, 127, 13" : "99, 81, 212"
            button.style.background = `rgba(${hue}, ${Math.min(0.55, 0.55 * Math.abs(shade))})`
            button.onclick = () => setTriggerValue("cell", id)
            cell.append(button)
            line.append(cell)
          })
          body.append(line)
        })
        table.append(head, body)
        figure.append(caption, table)
        return figure
      }
    }

    function ranking(data) {
      const made = make("div", undefined, "group"), items = make("div", undefined, "items")
      made.append(make("h4", data.asked), items)
      items.append(...data.items.map((item) => {
        const card = make("div")
        card.append(item.picture ? picture(item.picture, item.name) : "", make("span", item.name))
        card.append(make("span", item.note))
        return card
      }))
      return made
    }
    """,
)


@dataclass(frozen=True)
class Cells:
    """A matrix as it is shown."""

    id: str
    title: str
    meaning: str
    rows: Sequence[str]
    columns: Sequence[str]
    pictures: Sequence[str]  # addresses of the rows' pictures; "" for none
    drawn: Sequence[bool]  # rows that are marked
    cells: Sequence[Sequence[str]]
    shades: Sequence[Sequence[float]]  # from −1 to 1
    lit: Sequence[Sequence[bool]]


@dataclass(frozen=True)
class Ranked:
    """An item of a ranking."""

    name: str
    picture: str
    note: str


def cells_of(
    id: str,
    title: str,
    meaning: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: FloatArray,
    lit: BoolArray,
    pictures: Sequence[str] = (),
    drawn: Sequence[bool] = (),
    digits: int = 2,
) -> Cells:
    """A matrix with its numbers written and its entries shaded by their size."""
    largest = float(np.abs(values).max(initial=0)) or 1.0
    none = len(rows)
    return Cells(
        id,
        title,
        meaning,
        rows,
        columns,
        list(pictures) or [""] * none,
        list(drawn) or [False] * none,
        [[written(value, digits) for value in line] for line in values.tolist()],
        (values / largest).round(3).tolist(),
        lit.tolist(),
    )


def written(value: float, digits: int) -> str:
    """Short: .66 rather than 0.66, and nothing but 0 for 0."""
    if value == 0 or digits == 0:
        return f"{value:.0f}"
    text = f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else text.replace("-", "−")


@lru_cache(maxsize=256)
def small_picture(picture: bytes) -> str:
    """The picture as an address that holds it, small."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=80)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


def show_grids(
    groups: Mapping[str, Sequence[Cells]],
    asked: str,
    items: Sequence[Ranked],
    chosen: str,
    key: str,
    on_click: Callable[[], None],
) -> None:
    """Groups of matrices, and below them a ranking; a click tells which entry."""
    told: dict[str, Any] = {
        "groups": [
            {"title": title, "grids": [asdict(grid) for grid in grids]}
            for title, grids in groups.items()
            if grids
        ],
        "asked": asked,
        "items": [asdict(item) for item in items],
        "chosen": chosen,
    }
    _GRIDS(data=told, key=key, on_cell_change=on_click)
