"""Every symbol with its meaning, told once; and which of them stand in an equation."""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"\\(?:hat|bar|tilde)\{[A-Za-z]\}|\\[A-Za-z]+|[A-Za-z]")


@dataclass(frozen=True)
class Symbol:
    """A sign, what it means, and where it comes from."""

    latex: str
    meaning: str
    where: str
    signs: tuple[str, ...]  # as they stand in LaTeX


SYMBOLS = (
    Symbol("N", "items: pairs of, say, a picture and its words", "the data", ("N",)),
    Symbol("t", "which modality: text, image, …; there are $n_t$ of them", "the data", ("t", "n")),
    Symbol("X_t", "features: an item a row, a feature a column, nothing negative", "the data", ("X", "x")),
    Symbol(r"L_a", "labels: an item a row, a class a column, 1 where it has the class", "the data", ("L",)),
    Symbol("r", "bits of a code", "chosen", ("r",)),
    Symbol(
        "Y",
        "relaxed codes: an item a row, a bit a column, any number from 0; all modalities share them",
        "learnt",
        ("Y", "y"),
    ),
    Symbol("U_t", "basis: what each bit says of each feature, so that $X_t ≈ Y U_t^⊤$", "learnt", ("U", "u")),
    Symbol("W_t", "hash function: from features to bits, $Y ≈ X_t W_t$", "learnt", ("W", "w")),
    Symbol(
        r"\bar{y}_k",
        "threshold of bit $k$, its mean over all items: above it the bit is on",
        "learnt",
        (r"\bar{y}",),
    ),
    Symbol("m", "items that are drawn in an iteration, to feel the labels", "chosen", ("m",)),
    Symbol(
        "S", "which items were drawn; a hat, as in $\\hat{Y}$, means: of these alone", "drawn", ("S", "s")
    ),
    Symbol(
        r"\hat{A}",
        "affinity of the drawn items: how many classes two of them have in common",
        "from the labels",
        (r"\hat{A}", "A"),
    ),
    Symbol(
        r"\hat{D}",
        "degrees: the sums of the rows of $\\hat{A}$",
        "from the labels",
        (r"\hat{D}", r"\hat{d}", "D"),
    ),
    Symbol(
        r"\hat{L}",
        "Laplacian, $\\hat{D} - \\hat{A}$: small where neighbours agree",
        "from the labels",
        (r"\hat{L}",),
    ),
    Symbol(
        r"\alpha",
        "weight of the labels: how strongly items of a class are pulled together",
        "chosen",
        (r"\alpha",),
    ),
    Symbol(
        r"\mu", "weight of the hash functions: how well features must predict the codes", "chosen", (r"\mu",)
    ),
    Symbol(r"\beta", "keeps the bits apart, so that they do not all say the same", "chosen", (r"\beta",)),
    Symbol(r"\eta", "smoothness: items of a class should be predicted alike", "chosen", (r"\eta",)),
    Symbol(r"\gamma", "ridge: keeps the hash functions small", "chosen", (r"\gamma",)),
    Symbol(
        r"\lambda_t", "share of a modality in rebuilding the features; they sum to 1", "chosen", (r"\lambda",)
    ),
    Symbol(
        "B",
        "what pulls at an entry of $Y$; $B^+$ and $B^-$ are its positive and negative part",
        "from the others",
        ("B",),
    ),
    Symbol("M", "what holds an entry of $Y$ back", "from the others", ("M",)),
    Symbol("C", "the matrix that is inverted for $W_t$", "from the others", ("C",)),
    Symbol(r"\circ", "entry by entry; the fraction too is taken entry by entry", "a sign", (r"\circ",)),
    Symbol(r"\top", "transposed: rows become columns", "a sign", (r"\top",)),
    Symbol("P@k", "share of right answers among the first $k$", "measured", ("P",)),
    Symbol("R", "right answers that there are in the database", "measured", ("R",)),
)


def symbols_in(latex: str) -> tuple[Symbol, ...]:
    """Those that stand in the equation, in the order of the table."""
    bare = re.sub(r"\\(?:text|mathrm)\{[^}]*\}", " ", latex)
    signs = set(TOKEN.findall(bare))
    return tuple(symbol for symbol in SYMBOLS if signs & set(symbol.signs))


def meanings_in(latex: str) -> str:
    """The same as lines of Markdown."""
    return "\n\n".join(f"${symbol.latex}$: {symbol.meaning}" for symbol in symbols_in(latex))
