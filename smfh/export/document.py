"""The whole comparison as one HTML file that needs nothing else: figures alive, settings, tests, command."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from smfh.plots import Chart, chart_html, plotly_script

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
figure { margin: 2rem 0; }
figcaption { font-weight: 600; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .75rem; text-align: left; white-space: nowrap; border-bottom: 1px solid #767c8866; }
td { font-variant-numeric: tabular-nums; }
p { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; padding: .75rem; border: 1px solid #767c8866; }
"""

Table = Sequence[Mapping[str, object]]


@dataclass(frozen=True, eq=False)
class Section:
    """A heading with sentences, a table, what is set as it stands, and figures; each may be missing."""

    heading: str
    sentences: Sequence[str] = ()
    table: Table = ()
    verbatim: str = ""
    charts: Mapping[str, Chart] | None = None


def document(title: str, sections: Iterable[Section]) -> str:
    """One file; whatever comes from data is escaped."""
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{plotly_script()}</head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.heading)}</h2>"]
    parts += [f"<p>{html.escape(sentence)}</p>" for sentence in section.sentences]
    if section.table:
        parts.append(_table(section.table))
    if section.verbatim:
        parts.append(f"<pre>{html.escape(section.verbatim)}</pre>")
    parts += [chart_html(chart, f"figure-{name}") for name, chart in (section.charts or {}).items()]
    return "\n".join(parts)


def _table(rows: Table) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    cells = ("".join(f"<td>{html.escape(str(row.get(name, '')))}</td>" for name in columns) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
