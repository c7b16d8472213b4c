"""Tables for LaTeX, with booktabs; text from data is set as it is, and cannot run."""

import unicodedata
from collections.abc import Sequence

NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
GREEK = {"Σ": "Sigma", "α": "alpha", "β": "beta", "γ": "gamma", "η": "eta", "λ": "lambda", "μ": "mu"}
SYMBOLS = GREEK | {"→": "rightarrow", "±": "pm", "≤": "leq", "·": "cdot"}
SPECIAL = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: rf"\text{name}{{}}" for sign, name in NAMED.items()}
    | {sign: rf"$\{name}$" for sign, name in SYMBOLS.items()}
)
Rows = Sequence[Sequence[str]]


def escape(text: str) -> str:
    """Text on one line that LaTeX sets as it is, without what cannot be seen, at which it would stop."""
    seen = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join(seen.split()).translate(SPECIAL)


def latex_table(caption: str, columns: Sequence[str], groups: Sequence[Rows], words: int = 1) -> str:
    r"""A table, a rule above each group of rows; the first columns are words, and cells are LaTeX already."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\begin{{tabular}}{{{'l' * words}{'r' * (len(columns) - words)}}}",
        r"\toprule",
        " & ".join(map(escape, columns)) + r" \\",
    ]
    for rows in groups:
        lines += [r"\midrule", *(" & ".join(row) + r" \\" for row in rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])
