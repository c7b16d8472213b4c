"""Search: a query by words, an item or a picture, its results, and why they match."""

from smfh.ui.search import draw_page

draw_page()
