"""Escape texts from data, files and links, so that no part of them is interpreted as Markdown."""

import re
from collections.abc import Callable, Iterable

import streamlit as st

MARKUP = re.compile(r"([\\`*_\[\]<>#~$&])")
LIST_START = re.compile(r"^(\d*)([-+.)])")
# links, :smile: and :material/home: are recognised after backslashes are removed, so they need a joiner
SHORTCODE = re.compile(r"(:(?=\S)|@|www(?=\.))", re.IGNORECASE)
JOINER = "\u2060"  # invisible, without a line break


def plain(text: str) -> str:
    """Escape a text for Markdown, on one line, so that captions, labels and messages show it literally.

    `st.text` does not interpret Markdown and is the better choice where it fits.
    """
    line = " ".join("".join(c if c >= " " and c != "\x7f" else " " for c in text).split())
    return SHORTCODE.sub(rf"\1{JOINER}", LIST_START.sub(r"\1\\\2", MARKUP.sub(r"\\\1", line)))


def paragraphs(problems: Iterable[str]) -> str:
    """Join messages into Markdown paragraphs with all special characters escaped."""
    return "\n\n".join(map(plain, problems))


def draw_problems(
    heading: str, problems: Iterable[str], draw: Callable[[str], object] | None = None, mark: str = ""
) -> None:
    """Draw a message, by default with st.error: a heading, and below it each problem after `mark`."""
    (draw or st.error)(heading)
    st.text("\n".join(f"{mark}{problem}" for problem in problems))
