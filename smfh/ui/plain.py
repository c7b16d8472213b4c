"""Texts that come from data, files, names or links, where Streamlit would read Markdown in them."""

import re
from collections.abc import Iterable

SIGNS = re.compile(r"([\\`*_\[\]<>#~$&])")
BEGINNING = re.compile(r"^(\d*)([-+.)])")  # of a list
# links, :smile: and :material/home: are looked for in the finished text, where no backslash is left
SOUGHT = re.compile(r"(:(?=\S)|@|www(?=\.))", re.IGNORECASE)
JOINER = "\u2060"  # a character that takes no room and lets no line break


def plain(text: str) -> str:
    """The text on one line, such that a caption, a label or a message shows it as it is.

    `st.text` needs nothing of this and is the better choice where it fits.
    """
    line = " ".join("".join(c if c >= " " and c != "\x7f" else " " for c in text).split())
    return SOUGHT.sub(rf"\1{JOINER}", BEGINNING.sub(r"\1\\\2", SIGNS.sub(r"\\\1", line)))


def paragraphs(problems: Iterable[str]) -> str:
    """Messages below each other, each as it is."""
    return "\n\n".join(map(plain, problems))
