"""Twenty texts that are commands or markup for some program, and must stay plain text in ours."""

import io
import re

import numpy as np

TEXTS = (
    "<b>bold</b><i>tag</i>",
    "<script>document.title='ran'</script>",
    '<img src="x" onerror="document.title=\'ran\'">',
    '<a href="javascript:document.title=1">tag link</a>',
    "**strong** and _slanted_",
    "[link](https://link.invalid/)",
    "![picture](https://picture.invalid/y.png)",
    "https://bare.invalid/x www.bare.invalid me@bare.invalid",
    ":material/home: :smile: :red[coloured] :blue-badge[badge]",
    r"$\frac{a}{b}$ and `code`",
    "# heading",
    "%{x} %{customdata[0]} <extra>hover</extra>",
    '=HYPERLINK("https://cell.invalid","x")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    r"\input{/etc/passwd} \write18{ls} 50% & #1 ~x^2",
    "\u202eright to left\u202c and\u200bno\ufeffwidth",
    "bell\x07 escape\x1b[31m tab\there",
    "../../../etc/passwd\\..\\x.csv \"quoted\" 'and' so",
    "&lt;b&gt; &amp;amp; " + "long " * 100 + "end",
)
# the same for names of modalities, which have letters, digits, spaces and .()- alone
MODALITIES = ("__image__", "www.bare.invalid")
# beginnings of the texts that Markdown would change, also if a page cuts them
SIGNS = (*(text[:12] for text in TEXTS[:11]), "&lt;b&gt;", *MODALITIES)
MARKDOWN = re.compile("|".join(rf"(?<!\\){re.escape(sign)}" for sign in SIGNS))


def hostile_upload() -> tuple[str, bytes]:
    """A file whose classes, captions and name are these texts."""
    rng = np.random.default_rng(0)
    words = np.array([text.replace("|", "/") for text in TEXTS] * 3)
    kinds = np.tile(np.eye(len(TEXTS)), (3, 1))[:, :12]
    file = io.BytesIO()
    np.savez(file, labels=words, captions=words, **{name: rng.random((60, 12)) + kinds for name in MODALITIES})
    return f"{TEXTS[0]}{TEXTS[5]}.npz".replace("/", ""), file.getvalue()
