"""LaTeX tables with booktabs; text from data is escaped, so that it cannot run commands."""

import re
import unicodedata
from collections.abc import Callable, Sequence

NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
GREEK = {"Σ": "Sigma", "α": "alpha", "β": "beta", "γ": "gamma", "η": "eta", "λ": "lambda", "μ": "mu"}
SYMBOLS = GREEK | {"→": "rightarrow", "±": "pm", "≤": "leq", "·": "cdot"}
SPECIAL = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: rf"\text{name}{{}}" for sign, name in NAMED.items()}
    | {sign: rf"$\{name}$" for sign, name in SYMBOLS.items()}
    | {"₂": "$_2$"}
)
MATHEMATICS = (
    (r"Σ_\(([^)]*)\)", r"\\sum_{\1}"),
    (r"Σ_(\w)", r"\\sum_{\1}"),
    (r"log₂", r"\\log_2"),
    (r"≤", r" \\leq "),
    (r"·", r"\\cdot"),
    (r"ρ", r"\\rho"),
    (r"\bmin\b", r"\\min"),
    (r"(?<![\\{a-z])\b([A-Z]{2}|[a-z]{3,})\b", r"\\mathrm{\1}"),
)
WORDS = re.compile(r"(?P<math>.*?)((?P<comma>,|;| ·) (?P<words>[a-z]{2,}[ :].*))?$", re.DOTALL)
Rows = Sequence[Sequence[str]]


def escape(text: str) -> str:
    """Return text escaped for LaTeX, on one line and without control characters, which LaTeX refuses."""
    visible = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join(visible.split()).translate(SPECIAL)


def typeset(formula: str, words: Callable[[str], str] = escape) -> str:
    """Convert a plain-text formula and the words after it to LaTeX; text without a formula is only escaped.

    "P@K = Σ_(k≤K) rel(k) / K, mean over queries" becomes a fraction in mathematics mode and then the words.
    The function `words` escapes the words. The mathematics is also valid in Matplotlib.
    """
    math, comma, rest = WORDS.match(formula).group("math", "comma", "words")  # type: ignore[union-attr]
    if not any(sign in math for sign in "Σ="):
        return words(formula)
    left, equals, right = math.rpartition(" = ")
    if equals and " / " in right:
        right = rf"\frac{{{right.replace(' / ', '}{', 1)}}}"
    for pattern, replacement in MATHEMATICS:
        left, right = (re.sub(pattern, replacement, part) for part in (left, right))
    return f"${left}{equals}{right}${words(comma or '')}{' ' * bool(rest)}{words(rest or '')}"


def latex_table(caption: str, columns: Sequence[str], groups: Sequence[Rows], words: int = 1) -> str:
    r"""Return a table of LaTeX cells, a rule above each group, the first `words` columns left-aligned."""
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
