"""Texts from data, files, names or links, and messages that quote them, without Markdown."""

import re
from collections.abc import Callable, Iterable

import streamlit as st

MARKUP = re.compile(r"([\\`*_\[\]<>#~$&])")
LIST_START = re.compile(r"^(\d*)([-+.)])")
# links, :smile: and :material/home: are recognised after backslashes are removed, so they need a joiner
SHORTCODE = re.compile(r"(:(?=\S)|@|www(?=\.))", re.IGNORECASE)
JOINER = "\u2060"  # invisible, without a line break


def plain(text: str) -> str:
    """Escape a text, on one line, so that a caption, label or message shows it literally.

    `st.text` does not interpret Markdown and is the better choice where it fits.
    """
    line = " ".join("".join(c if c >= " " and c != "\x7f" else " " for c in text).split())
    return SHORTCODE.sub(rf"\1{JOINER}", LIST_START.sub(r"\1\\\2", MARKUP.sub(r"\\\1", line)))


def paragraphs(problems: Iterable[str]) -> str:
    """Join messages as escaped paragraphs."""
    return "\n\n".join(map(plain, problems))


def draw_problems(
    heading: str, problems: Iterable[str], draw: Callable[[str], object] | None = None, mark: str = ""
) -> None:
    """Draw a heading with `draw`, by default st.error, and below it each problem as text after `mark`."""
    (draw or st.error)(heading)
    st.text("\n".join(f"{mark}{problem}" for problem in problems))
