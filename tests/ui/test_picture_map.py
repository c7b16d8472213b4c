"""The sheet of small pictures, and what a brushed map tells."""

import io

import numpy as np
import pytest
from PIL import Image

from smfh.plots import code_map
from smfh.ui.canvas import SIDE, brushed_rows, make_sheet

pytestmark = pytest.mark.slow


def a_picture(colour, size=(64, 64)):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(("number", "columns", "lines"), [(1, 1, 1), (2, 2, 1), (4, 2, 2), (5, 3, 2)])
def test_a_sheet_is_nearly_square(number, columns, lines):
    sheet = make_sheet([a_picture("red")] * number)
    assert sheet.columns == columns
    assert Image.open(io.BytesIO(sheet.file)).size == (columns * SIDE, lines * SIDE)


def test_each_picture_stands_in_the_middle_of_its_own_place():
    colours = ["red", "lime", "blue"]
    sheet = make_sheet([a_picture("red"), a_picture("lime", (64, 16)), a_picture("blue")])
    image = np.asarray(Image.open(io.BytesIO(sheet.file)).convert("RGB")).astype(int)
    for k, _ in enumerate(colours):
        down, across = divmod(k, sheet.columns)
        middle = image[down * SIDE + SIDE // 2, across * SIDE + SIDE // 2]
        assert middle.argmax() == k
        assert middle.max() > 180
        assert np.sort(middle)[1] < 90
    assert image[2, SIDE + SIDE // 2].min() > 230  # over the flat one the sheet is white


@pytest.mark.parametrize("told", [None, "rows", {"rows": [1]}])
def test_what_is_no_list_brushes_nothing(told):
    assert brushed_rows(told, drawn()) == []


def test_rows_of_another_map_are_left_out():
    assert brushed_rows([40, 7, 10, "x", None], drawn()) == [40, 10]


def drawn():
    rows, classes = np.array([40, 10, 30]), np.zeros(3, dtype=int)
    return code_map("PCA", np.zeros((3, 2)), rows, classes, ("a",), list("xyz"), 3)
