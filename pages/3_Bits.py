"""Bits: what each bit stands for, the map of codes, and which queries score worst and best."""

from smfh.ui.bits import draw_page

draw_page()
