"""LaTeX tables with booktabs, and formulas; text from data is escaped, so that it cannot run commands."""

import html
import re
import unicodedata
from collections import deque
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
SIGNS = {r"\sum": "∑", r"\cdot": "·", r"\le": "≤", r"\leq": "≤", r"\rho": "ρ"}
TOKEN = re.compile(r"\\mathrm\{[^}]*\}|\\[a-zA-Z]+|\d+|\S")
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


def formula_html(formula: str) -> str:
    """Convert a plain-text formula and the words after it to HTML, with the mathematics as MathML."""
    text = typeset(formula, lambda words: html.escape(words).replace("$", "&#36;"))
    return re.sub(r"\$([^$]+)\$", lambda found: mathml(found[1]), text)


def mathml(latex: str) -> str:
    """Convert a formula in the LaTeX that `typeset` writes to MathML."""
    tokens = deque(TOKEN.findall(latex))

    def read_row() -> str:
        row: list[str] = []
        while tokens and tokens[0] != "}":
            if tokens[0] in "_^":
                kind = "msup" if tokens.popleft() == "^" else "munder" if row[-1] == "<mo>∑</mo>" else "msub"
                row.append(f"<{kind}>{row.pop()}{read_one()}</{kind}>")
            else:
                row.append(read_one())
        return "".join(row)

    def read_one() -> str:
        part = tokens.popleft()
        if part == "{":
            row = read_row()
            tokens.popleft()
            return f"<mrow>{row}</mrow>"
        if part == r"\frac":
            return f"<mfrac>{read_one()}{read_one()}</mfrac>"
        if part in SIGNS:
            return f"<mo>{SIGNS[part]}</mo>"
        name = part.removeprefix(r"\mathrm{").removesuffix("}").lstrip("\\")
        kind = "mn" if name.isdigit() else "mi" if name.isalpha() else "mo"
        return f"<{kind}>{html.escape(name)}</{kind}>"

    return f"<math>{read_row()}</math>"


def latex_table(caption: str, columns: Sequence[str], groups: Sequence[Rows], words: int = 1) -> str:
    r"""Return a table of LaTeX cells with a rule above each group and the first `words` columns left-aligned."""
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
