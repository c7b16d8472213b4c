"""Matrices as tables of numbers that can be clicked, those that moved lit; items with their pictures.

Names are set as text, never as markup.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import streamlit as st

from smfh.types import BoolArray, FloatArray

_MATRICES = st.components.v2.component(
    "smfh_matrices",
    html="""<div class="groups"></div>""",
    css="""
    .groups { display: flex; flex-wrap: wrap; gap: .2rem 2.2rem; align-items: flex-start;
      font-size: .8rem; color: var(--st-text-color); font-family: var(--st-font); }
    .group > h4 { margin: .3rem 0 .1rem; font-size: .85rem; font-weight: 600; }
    .grids { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: flex-start; }
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
    td button { all: unset; box-sizing: border-box; display: block; min-width: 2.2rem; padding: .08rem .2rem;
      text-align: center; cursor: pointer; border-radius: 2px; }
    td button:hover, td button:focus-visible { outline: 2px solid var(--st-primary-color); }
    td button.lit { box-shadow: inset 0 0 0 2px #D77F0D; font-weight: 600; }
    td button.chosen { outline: 3px solid var(--st-primary-color); }
    td button.blank { opacity: .45; }
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
        grids.append(...group.matrices.map((matrix) => draw(matrix, open)))
        return made
      }))
      if (focused) root.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus()

      function draw(matrix, open) {
        const figure = make("figure"), caption = make("figcaption"), details = make("details")
        details.dataset.of = matrix.id
        details.open = open.has(matrix.id)
        details.append(make("summary", matrix.title), make("p", matrix.meaning))
        caption.append(details)
        const table = make("table"), head = make("thead"), body = make("tbody"), top = make("tr")
        table.setAttribute("aria-label", matrix.title)
        const heading = (name, k) => {
          const made = Object.assign(make("th", matrix.heads[k] ? "" : name), { title: name })
          if (matrix.heads[k]) made.append(picture(matrix.heads[k], name))
          return made
        }
        top.append(make("th"), ...matrix.columns.map(heading))
        head.append(top)
        matrix.cells.forEach((cells, i) => {
          const line = make("tr"), name = make("th", matrix.pictures[i] ? "" : matrix.rows[i])
          name.title = matrix.rows[i]
          if (matrix.pictures[i]) name.append(picture(matrix.pictures[i], matrix.rows[i]))
          if (matrix.drawn[i]) name.classList.add("drawn")
          line.append(name)
          cells.forEach((text, k) => {
            const cell = make("td"), id = `${matrix.id}:${i}:${k}`, shade = matrix.shades[i][k]
            const classes = [matrix.lit[i][k] && "lit", id === data.chosen && "chosen", !shade && "blank"]
            const button = make("button", text, ...classes)
            button.dataset.cell = id
            const where = `${matrix.title}, ${matrix.rows[i]}, ${matrix.columns[k]}`
            button.setAttribute("aria-label", `${where}: ${text}`)
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
    heads: Sequence[str]  # and of the columns'
    drawn: Sequence[bool]  # rows that are marked
    cells: Sequence[Sequence[str]]
    shades: Sequence[Sequence[float]]  # from −1 to 1
    lit: Sequence[Sequence[bool]]


def cells_of(
    id: str,
    title: str,
    meaning: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: FloatArray,
    lit: BoolArray,
    pictures: Sequence[str] = (),
    heads: Sequence[str] = (),
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
        list(heads) or [""] * len(columns),
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


def show_matrices(
    groups: Mapping[str, Sequence[Cells]], chosen: str, key: str, on_click: Callable[[], None]
) -> None:
    """Groups of matrices; a click tells which entry, as `matrix:row:column`."""
    told: dict[str, Any] = {
        "groups": [
            {"title": title, "matrices": [asdict(matrix) for matrix in matrices]}
            for title, matrices in groups.items()
            if matrices
        ],
        "chosen": chosen,
    }
    _MATRICES(data=told, key=key, on_cell_change=on_click)
