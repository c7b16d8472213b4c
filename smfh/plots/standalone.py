"""Charts outside the app: pieces of HTML that live on without a server."""

import html

from plotly.offline import get_plotlyjs

from smfh.plots.chart import Chart

CONFIG = {"displaylogo": False, "responsive": True}


def plotly_script() -> str:
    """The drawing program itself, to be written once before the first chart; nothing is fetched."""
    return f"<script>{get_plotlyjs()}</script>"


def chart_html(chart: Chart, name: str) -> str:
    """The chart with its finding above it, in words for who cannot see it; `name` is its id in the page."""
    figure = chart.figure(titled=False)
    drawn: str = figure.to_html(
        config=CONFIG,
        include_plotlyjs=False,
        full_html=False,
        div_id=name,
        default_height=figure.layout.height,
    )
    return (
        f'<figure role="img" aria-label="{html.escape(chart.description)}">'
        f"<figcaption>{html.escape(chart.title)}</figcaption>{drawn}</figure>"
    )
