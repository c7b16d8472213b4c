"""Learn in AppTest: every part, its links, and handlers as plain functions; each page run twice."""

import re
from functools import partial
from itertools import chain

import app_pages
import numpy as np
import pytest
from app_pages import until
from streamlit.testing.v1 import AppTest

from smfh.comparison import Grid
from smfh.datasets import DATASETS
from smfh.lessons.example import make_example, usual_rows
from smfh.lessons.iteration import ABOUT, USUAL, matrices_of, walk
from smfh.lessons.lessons import LESSONS
from smfh.paper import ERRATA
from smfh.ui.learn.idea import chosen_distances
from smfh.ui.learn.iteration import BEAT, PLAYING, ranking_of, term_lines
from smfh.ui.learn.matrices import cells_of, written
from smfh.ui.learn.studied import MOMENTS, PARTS, Studied
from smfh.ui.learn.symbols import errata_of
from smfh.ui.learn.tables import groups_of, names_of, read_entry
from smfh.ui.server import run_store

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/9_Learn.py")
TWO_TRUTHS = {"learn.lesson": "two-truths"}


def param(page: AppTest, key: str, usual: str = "") -> str:
    """What the address says, as it was given or as it was set."""
    value = page.query_params.get(key, usual)
    return value[0] if isinstance(value, list) else value


def told(page: AppTest) -> str:
    return "\n".join(
        element.value for element in (*page.text, *page.markdown, *page.subheader, *page.caption)
    )


def until_answered(page: AppTest) -> AppTest:
    """Look again as the page does by itself, until the lesson's trainings are there."""
    return until(page, lambda: any(box.label == "The answer" for box in page.expander))


@pytest.fixture(scope="module")
def emoji():
    return DATASETS["emoji"]().load()[0]


@pytest.fixture(scope="module")
def walked(emoji):
    return walk(make_example(emoji, usual_rows(emoji)), USUAL)


def test_the_methods_controls_are_not_shown_and_their_values_stay():
    page = open_page(data="emoji", method="smfh", bits="16", graph_weight="5.0")
    controls = [control.key for control in (*page.sidebar.select_slider, *page.sidebar.selectbox)]
    assert controls
    assert all(key.startswith("control_data") for key in controls)
    assert [param(page, name) for name in ("method", "bits", "graph_weight")] == ["smfh", "16", "5.0"]
    page.switch_page("pages/8_Data.py").run()
    assert not page.exception
    assert page.selectbox(key="control_method").value == "smfh"
    values = {name: page.select_slider(key=f"control_smfh_{name}").value for name in ("bits", "graph_weight")}
    assert values == {"bits": 16, "graph_weight": 5.0}


@pytest.mark.parametrize("part", [part for part in PARTS if part != "lessons"])
def test_every_part_is_drawn_twice(part):
    page = open_page(**{"learn.part": part})
    assert page.segmented_control[0].value == part
    assert told(page)
    before = told(page)
    assert not page.run().exception
    assert told(page) == before


def test_forward_and_back_walk_the_iteration_and_the_link_tells_where():
    page = open_page(**{"learn.part": "iteration"})
    for step in [*list(ABOUT)[1:], "bases"]:
        page.button(key="learn_forward").click().run()
        assert param(page, "learn.step", "bases") == step
        assert ABOUT[step].title in page.subheader[0].value
        assert any(ABOUT[step].equation in latex.value for latex in page.latex)
    assert param(page, "learn.iteration") == "2"
    page.button(key="learn_back").click().run()
    assert page.subheader[0].value == "Iteration 1, step 5: The hash functions W"
    for _ in range(9):
        page.button(key="learn_back").click().run()
    assert page.subheader[0].value == "Iteration 1, step 1: The bases U"


def test_a_link_opens_a_moment_with_an_entry_of_it(walked):
    page = open_page(
        **{
            "learn.part": "iteration",
            "learn.iteration": "4",
            "learn.step": "codes",
            "learn.entry": "relaxed::2:3",
        }
    )
    value = walked.at(4, "codes").after.Y[2, 3]
    assert any("frog, bit 3" in text.value and f"{value:.5g}" in text.value for text in page.text)
    assert any(rf"\mathbf{{{value:.5g}}}" in latex.value for latex in page.latex)
    page.button(key="learn_forward").click().run()
    assert param(page, "learn.entry") == "relaxed::2:3"  # the scale moves it too
    page.button(key="learn_forward").click().run()
    assert "learn.entry" not in page.query_params


def test_weights_and_items_change_the_numbers_at_once():
    page = open_page(**{"learn.part": "iteration", "learn.step": "functions"})
    before = told(page)
    page.select_slider(key="learn_alpha").set_value(5.0).run()
    assert param(page, "learn.alpha") == "5.0"
    assert told(page) != before
    before = told(page)
    page.multiselect(key="learn_rows").set_value([0, 1, 2, 3, 4, 5]).run()
    assert param(page, "learn.rows") == "0,1,2,3,4,5"
    assert told(page) != before
    page.multiselect(key="learn_rows").set_value([0, 1]).run()
    assert "4 to 12" in told(page)
    next(button for button in page.button if button.label == "The usual items").click().run()
    assert "learn.rows" not in page.query_params
    assert not page.exception


def test_a_set_without_pictures_or_words_has_an_example_too():
    page = open_page(**{"data": "planted", "learn.part": "iteration"})
    assert any("column" in text.value for text in page.text)
    assert not page.run().exception


def test_what_is_wrong_in_a_link_is_said():
    page = open_page(**{"learn.step": "dance", "learn.alpha": "-3", "learn.lesson": "none"})
    assert "dance" in told(page)
    assert "α) must be a number from 0" in told(page)
    assert "two-truths" in told(page)
    assert not page.run().exception


def test_playing_goes_on_by_itself_and_ends_at_the_end():
    page = open_page(**{"learn.part": "iteration"})
    page.button(key="learn_play").click().run()
    assert any(button.label == "Pause" for button in page.button)
    start, since = page.session_state[PLAYING]
    assert start == 0
    page.session_state[PLAYING] = (start, since - 3 * BEAT)
    page.run()
    assert page.subheader[0].value.startswith("Iteration 1, step 4")
    page.button(key="learn_pause").click().run()
    assert param(page, "learn.step") == "scale"
    page.button(key="learn_play").click().run()
    page.session_state[PLAYING] = (0, since - MOMENTS * BEAT)
    page.run()
    assert PLAYING not in page.session_state
    assert param(page, "learn.iteration") == "10"


def test_two_truths_from_its_link_moves_everything_together():
    page = until_answered(open_page(**TWO_TRUTHS, **{"learn.at": "2"}))
    lesson = LESSONS["two-truths"]
    grid = Grid(lesson.runs, *lesson.runs.source.load())
    records = list(grid.found(run_store()).values())
    for at in (2, 6):
        if at == 6:
            page.select_slider(key="learn_at").set_value(6).run()
            assert param(page, "learn.at") == "6"
        scores = run_store().scores(records[at], grid.data, grid.split, "image", "text", "training")
        said = next(text.value for text in page.text if text.value.startswith("α = "))
        assert f"{scores.mean_average_precision:.3f} in the first hundred" in said
        assert f"{scores.average_precision['full'].mean:.3f} over the whole" in said
    answer = next(box for box in page.expander if box.label == "The answer")
    assert not answer.proto.expanded
    assert re.search(r"best at α = \d+", answer.markdown[0].value)
    assert not page.run().exception


def test_for_a_class_the_lesson_stands_alone():
    page = until_answered(open_page(**TWO_TRUTHS, present="true"))
    assert not any(control.key == "learn_part" for control in page.segmented_control)
    assert not any(button.label == "A link for the class" for button in page.button)
    assert page.select_slider(key="learn_at")
    page.button[0].click().run()  # End the presentation
    assert any(control.key == "learn_part" for control in page.segmented_control)


def test_the_scrubber_of_the_film_is_in_the_link():
    page = open_page(**{"learn.part": "film", "learn.frame": "3"})
    assert page.select_slider(key="learn_frame").value == 3
    before = told(page)
    page.select_slider(key="learn_frame").set_value(20).run()
    assert param(page, "learn.frame") == "20"
    assert told(page) != before
    assert not page.exception


def test_every_matrix_is_shown_once_at_every_step(walked):
    for moment in walked.moments[:5]:
        groups = groups_of(walked, moment)
        shown = [cells.id for cells in chain(*groups.values())]
        places = [":".join(place) for place in matrices_of(walked.problem, moment.after)]
        assert sorted(shown) == sorted(places)
        given = {cells.id.split(":")[0] for cells in groups["Comes out"]}
        assert given == set(ABOUT[moment.step].gives) - {"rebuilt"}


def test_the_numbers_on_the_page_are_those_of_the_method(walked):
    moment = walked.at(2, "functions")
    for cells in chain(*groups_of(walked, moment).values()):
        name, modality = cells.id.split(":")
        values = matrices_of(walked.problem, moment.after)[name, modality]
        rows, columns = names_of(walked, (name, modality))
        assert values.shape == (len(rows), len(columns)) == (len(cells.cells), len(cells.cells[0]))
        for i, k in np.ndindex(values.shape):
            shown = float(cells.cells[i][k].replace("−", "-"))
            assert shown == pytest.approx(values[i, k], abs=0.0051)


def test_an_entry_is_found_by_its_name_or_not_at_all(walked):
    moment = walked.moments[0]
    assert read_entry("basis:text:2:1", walked, moment) == (("basis", "text"), 2, 1)
    assert read_entry("relaxed::8:3", walked, moment) == (("relaxed", ""), 8, 3)
    for wrong in (
        None,
        "",
        "basis",
        "basis:text:2",
        "basis:sound:2:1",
        "relaxed::9:0",
        "relaxed::-1:0",
        "a:b:c:d",
    ):
        assert read_entry(wrong, walked, moment) is None


def test_an_entry_stays_chosen_where_the_next_step_moves_its_matrix():
    at = Studied(step="codes", entry="relaxed::2:3")
    assert at.moved_to(at.moment + 1).entry == "relaxed::2:3"
    assert at.moved_to(at.moment + 2).entry is None
    assert at.moved_to(MOMENTS - 1).iteration == USUAL.iterations


def test_terms_are_told_in_words(walked):
    lines = term_lines(walked.at(2, "bases"))
    fell = walked.at(2, "bases").changes["reconstruction (text)"]
    after = walked.at(2, "bases").terms_after["reconstruction (text)"]
    assert f"▼ reconstruction (text) fell by {-fell:.3f} to {after:.3f}" in lines


def test_the_ranking_is_nearest_first_and_crosses_what_is_wrong(walked):
    ((title, items),) = ranking_of(Studied(asks=3), walked, walked.moments[-1])
    assert "“red apple” asks by text" in title
    away = [int(item.notes[1].split()[0]) for item in items]
    assert away == sorted(away)
    labels = {item.name: item.right for item in items}
    assert labels["lemon"]
    assert not labels["red heart"]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.664, 2, ".66"),
        (0.0, 2, "0"),
        (-0.5, 2, "−.50"),
        (1.0, 0, "1"),
        (12.345, 2, "12.35"),
        (1234.5, 2, "1234"),
    ],
)
def test_numbers_are_written_short(value, digits, text):
    assert written(value, digits) == text


def test_cells_are_shaded_by_their_share_of_the_largest():
    cells = cells_of("a:", "A", "", ["x"], ["p", "q"], np.array([[2.0, -1.0]]), np.array([[True, False]]))
    assert cells.shades == [[1.0, -0.5]]
    assert cells.lit == [[True, False]]


def test_errata_are_those_of_the_equations():
    of_codes = errata_of(ABOUT["codes"].in_paper)
    assert {"Eq. 17 and 20", "Eq. 16"} <= {erratum.where for erratum in of_codes}
    assert errata_of(["99"]) == []
    linked = {erratum for about in ABOUT.values() for erratum in errata_of(about.in_paper)}
    assert linked <= set(ERRATA)


def test_the_distances_shown_are_near_middle_and_far():
    assert chosen_distances([0, 0, 1, 2, 5, 7, 9, 9]) == [0, 1, 2, 5, 9]
    assert chosen_distances([3, 3]) == [3]
