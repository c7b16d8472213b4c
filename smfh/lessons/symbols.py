"""The symbols of the method with their meanings, and a search for the symbols of an equation."""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"\\(?:hat|bar|tilde)\{[A-Za-z]\}|\\[A-Za-z]+|[A-Za-z]")
TABLE = r"""
N | Number of items. An item is, for example, a picture with its words. | data | N
t | A modality, such as text or image. There are $n_t$ modalities. | data | t n
X_t | Features: one row per item, one column per feature, no negative numbers. | data | X x
L_a | Labels: one row per item, one column per class; 1 if the item has the class. | data | L
r | Number of bits of a code. | chosen | r
Y | Relaxed codes, shared by all modalities: one row per item, one column per bit, no negative numbers. | learnt | Y y
U_t | Basis: the weight of each feature in each bit, such that $X_t ≈ Y U_t^⊤$. | learnt | U u
W_t | Hash function: computes bits from features, $Y ≈ X_t W_t$. | learnt | W w
\bar{y}_k | Threshold of bit $k$: its mean over all items. The bit is on above it. | learnt | \bar{y}
m | Number of items sampled in each iteration. Only these use their labels. | chosen | m
S | The sampled items. A hat, as in $\hat{Y}$, means: only the rows of these items. | random | S s
\hat{A} | Affinity of the sampled items: how many classes two of them share. | labels | \hat{A} A
\hat{D} | Degrees: the row sums of $\hat{A}$. | labels | \hat{D} \hat{d} D
\hat{L} | Laplacian, $\hat{D} - \hat{A}$. Its term is small if items of a class agree. | labels | \hat{L}
\alpha | Graph weight: how strongly items of a class are pulled together. | chosen | \alpha
\mu | Projection weight: how closely features must predict the codes. | chosen | \mu
\beta | Orthogonality weight: makes the bits differ from each other. | chosen | \beta
\eta | Smoothness: items of a class should get similar predictions. | chosen | \eta
\gamma | Ridge: keeps the hash functions small. | chosen | \gamma
\lambda_t | Weight of a modality when the features are rebuilt. The weights sum to 1. | chosen | \lambda
B | Numerator of the Y step. $B^+$ and $B^-$ are its positive and negative parts. | computed | B
M | Matrix in the denominator of the Y step. | computed | M
C | The matrix that is inverted to compute $W_t$. | computed | C
\circ | Multiply entry by entry. The fraction is also taken entry by entry. | notation | \circ
\top | Transpose: rows become columns. | notation | \top
P@k | Share of relevant items among the first $k$ results. | measured | P
\text{mAP@}k | P averaged over the places of relevant items among the first $k$, then over queries. | measured | mAP
R | Number of relevant items in the database. | measured | R
"""


@dataclass(frozen=True)
class Symbol:
    """A symbol with its meaning and its origin, such as data, chosen or learnt."""

    latex: str
    meaning: str
    origin: str
    tokens: tuple[str, ...]  # the LaTeX tokens that stand for the symbol


SYMBOLS = tuple(
    Symbol(latex, meaning, origin, tuple(tokens.split()))
    for latex, meaning, origin, tokens in (line.split(" | ") for line in TABLE.strip().splitlines())
)


def symbols_in(latex: str) -> tuple[Symbol, ...]:
    """Return the symbols that occur in a LaTeX equation, in the order of the table."""
    bare = re.sub(r"\\(?:text|mathrm)\{[^}]*\}", " ", latex)
    tokens = set(TOKEN.findall(bare))
    return tuple(symbol for symbol in SYMBOLS if tokens & set(symbol.tokens))


def meanings_in(latex: str) -> str:
    """Return the meanings of the symbols in a LaTeX equation, one Markdown paragraph each."""
    return "\n\n".join(f"${symbol.latex}$: {symbol.meaning}" for symbol in symbols_in(latex))
