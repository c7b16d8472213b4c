"""The page, run twice, as a visitor's second click runs it."""

from streamlit.testing.v1 import AppTest

from smfh import DATASETS, METHODS


def test_the_page_names_every_method_and_data_set():
    page = AppTest.from_file("../streamlit_app.py").run().run()
    assert not page.exception
    text = " ".join(element.value for element in page.markdown)
    for name in (*METHODS, *DATASETS):
        assert f"`{name}`" in text
