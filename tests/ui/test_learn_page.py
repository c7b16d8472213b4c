"""The Learn page in AppTest: every part, its links, and its functions; each part is drawn twice."""

from functools import partial

import app_pages
import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from smfh.experiments.comparison import Grid
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.lesson_runs import shipped_lesson
from smfh.lessons.lessons import LESSONS
from smfh.lessons.rooms import MAX_ROOMS, Rooms
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_INFO, walk_through
from smfh.ui.learn.components import COMES_OUT, GOES_IN, REST, matrix_groups, names_of, read_entry
from smfh.ui.learn.state import PARTS
from smfh.ui.server import job_queue, run_store

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/9_Learn.py")


def param(page: AppTest, key: str, default: str = "") -> str:
    """Return a parameter of the address."""
    value = page.query_params.get(key, default)
    return value[0] if isinstance(value, list) else value


def text_of(page: AppTest) -> str:
    return "\n".join(one.value for one in (*page.text, *page.markdown, *page.subheader, *page.caption))


@pytest.fixture(scope="module")
def walkthrough(emoji):
    return walk_through(make_example(emoji, default_rows(emoji)), DEFAULT_METHOD)


def test_method_controls_are_hidden_and_keep_their_values():
    page = open_page(data="emoji", method="smfh", bits="16", graph_weight="5.0")
    controls = [control.key for control in (*page.sidebar.select_slider, *page.sidebar.selectbox)]
    assert controls
    assert all(key.startswith("control_data") for key in controls)
    assert [param(page, name) for name in ("method", "bits", "graph_weight")] == ["smfh", "16", "5.0"]
    page.switch_page("pages/4_Tune.py").run()
    assert not page.exception
    assert page.selectbox(key="control_method").value == "smfh"
    values = {name: page.select_slider(key=f"control_smfh_{name}").value for name in ("bits", "graph_weight")}
    assert values == {"bits": 16, "graph_weight": 5.0}


@pytest.mark.parametrize("part", [part for part in PARTS if part != "lessons"])
def test_every_part_is_drawn_twice(part):
    page = open_page(**{"learn.part": part})
    assert page.segmented_control[0].value == part
    assert (before := text_of(page))
    assert not page.run().exception
    assert text_of(page) == before


def test_weights_and_items_change_the_numbers():
    page = open_page(**{"learn.part": "iteration", "learn.step": "functions"})
    before = text_of(page)
    page.select_slider(key="learn_alpha").set_value(5.0).run()
    assert param(page, "learn.alpha") == "5.0"
    assert text_of(page) != before
    before = text_of(page)
    page.multiselect(key="learn_rows").set_value([0, 1, 2, 3, 4, 5]).run()
    assert param(page, "learn.rows") == "0,1,2,3,4,5"
    assert text_of(page) != before
    page.multiselect(key="learn_rows").set_value([0, 1]).run()
    assert "4 to 12" in text_of(page)
    next(button for button in page.button if button.label == "Use the default items").click().run()
    assert "learn.rows" not in page.query_params
    assert not page.exception


def test_a_lesson_opens_at_once_and_starts_nothing():
    page, runs = open_page(**{"learn.lesson": "sample", "learn.guess": "-1"}), LESSONS["sample"].runs
    grid = Grid(runs, *runs.source.load())
    if shipped_lesson("sample", grid) is None:
        pytest.skip("the features of this processor differ in the last bit, so lessons are computed here")
    assert "m = 20:" in text_of(page)
    assert len(grid.missing(run_store())) == len(grid.keys)
    assert job_queue().find(grid.key) is None


def test_a_lesson_asks_for_a_prediction_before_it_shows_the_truth():
    runs = LESSONS["ties"].runs
    if (worked := shipped_lesson("ties", Grid(runs, *runs.source.load()))) is None:
        pytest.skip("the features of this processor differ in the last bit, so lessons are computed here")
    page, prediction = open_page(**{"learn.lesson": "ties"}), LESSONS["ties"].predict(worked)
    assert worked.notes[0] not in text_of(page)
    assert worked.answer not in text_of(page)
    page.radio(key="learn_guess").set_value(prediction.truth).run()
    assert page.info[0].value.startswith("Correct.")
    assert worked.notes[0] in text_of(page)
    assert param(page, "learn.guess") == str(prediction.truth)


@pytest.mark.parametrize("name", STEP_INFO)
def test_every_matrix_is_shown_with_the_numbers_of_the_method(walkthrough, name):
    step, info = walkthrough.at(2, name), STEP_INFO[name]
    groups = matrix_groups(walkthrough, step)
    shown = {title: {table["id"].split(":")[0] for table in tables} for title, tables in groups.items()}
    assert list(groups) == [GOES_IN, COMES_OUT, REST]
    assert (shown[GOES_IN], shown[COMES_OUT]) == (set(info.inputs), set(info.outputs))
    assert set().union(*shown.values()) == {key[0] for key in step.after.matrices}
    for title, table in ((title, table) for title, tables in groups.items() for table in tables):
        key = tuple(table["id"].split(":"))
        values = (step.before if title == GOES_IN else step.after).matrices[key]
        rows, columns = names_of(walkthrough, key)
        assert values.shape == (len(rows), len(columns)) == (len(table["entries"]), len(table["entries"][0]))
        for i, k in np.ndindex(values.shape):
            text = table["entries"][i][k].replace("−", "-")
            assert float(text) == pytest.approx(values[i, k], abs=0.0051)
        np.testing.assert_allclose(table["shades"], values / (np.abs(values).max() or 1), atol=5e-4)
        assert not np.any(table["changed"]) or title == COMES_OUT


def test_an_entry_is_read_only_if_it_exists(walkthrough):
    step = walkthrough.steps[0]
    assert read_entry("basis:text:2:1", step) == (("basis", "text"), 2, 1)
    assert read_entry("relaxed::8:3", step) == (("relaxed", ""), 8, 3)
    for wrong in (None, "", "basis:text:2", "basis:sound:2:1", "relaxed::9:0", "relaxed::-1:0", "a:b:c:d"):
        assert read_entry(wrong, step) is None


@pytest.fixture
def rooms(monkeypatch):
    """No rooms at first, and the lesson on ties, which needs no training."""
    runs = LESSONS["ties"].runs
    if shipped_lesson("ties", Grid(runs, *runs.source.load())) is None:
        pytest.skip("the features of this processor differ in the last bit, so lessons are computed here")
    rooms = Rooms()
    monkeypatch.setattr("smfh.ui.learn.room.class_rooms", lambda: rooms)
    return rooms


def enter(visitor: str, **query: str) -> AppTest:
    """Open the lesson on ties as this visitor."""
    page = app_pages.make_page("pages/9_Learn.py", visitor, **{"learn.lesson": "ties"}, **query).run()
    assert not page.exception
    return page


def messages(page: AppTest) -> list[str]:
    return [one.value for one in (*page.info, *page.success, *page.warning) if "oom" in one.value]


def has_measurements(page: AppTest) -> bool:
    return any(slider.key.startswith("learn_at") for slider in page.select_slider)


def labels(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


def test_a_class_answers_on_the_teachers_screen(rooms):
    teacher = enter("1" * 32)
    assert not teacher.metric
    teacher.button(key="learn_room_open").click().run()
    code = teacher.metric[0].value
    assert f"?learn.lesson=ties&learn.room={code}" in teacher.code[0].value
    assert "No answers yet" in text_of(teacher)

    ann, bob = enter("a" * 32, **{"learn.room": code.lower()}), enter("b" * 32)
    assert messages(ann) == [f"Your prediction will be sent to room {code}, without your name."]
    assert not messages(bob)
    ann.radio(key="learn_guess").set_value(1).run()
    assert messages(ann)[0].startswith(f"Your answer was sent to room {code}: ")
    bob.text_input(key="learn_room_code").set_value(f" {code} ")
    next(button for button in bob.button if button.label == "Join").click().run()
    bob.radio(key="learn_guess").set_value(0).run()
    assert messages(bob)[0].startswith(f"Your answer was sent to room {code}: ")
    assert rooms.find(code).counts("ties", 4) == (1, 1, 0, 0)
    assert "appear here when the teacher shows the answer" in text_of(ann)
    assert not has_measurements(ann)
    assert "2 answers" in text_of(teacher.run())

    again = enter("a" * 32, **{"learn.room": code})  # the same browser in a new tab
    again.radio(key="learn_guess").set_value(0).run()
    assert rooms.find(code).counts("ties", 4) == (2, 0, 0, 0)
    for student in (ann.run(), bob.run(), again):
        assert not student.metric
        assert not {"Show the answer", "Close the room"} & set(labels(student))
        assert "2 answers" not in text_of(student)

    assert "measured:" not in text_of(teacher.run())
    teacher.button(key="learn_room_show").click().run()
    assert "2 answers; measured: " in text_of(teacher)
    assert has_measurements(ann.run())
    teacher.button(key="learn_room_close").click().run()
    assert not teacher.metric
    assert "Collect answers from a class" in labels(teacher)
    assert messages(bob.run())[0].startswith(f"Room {code} is not open")
    assert not bob.exception


def test_a_room_is_kept_in_other_lessons_until_the_student_leaves(rooms):
    code = rooms.create("1" * 32)
    page = enter("a" * 32, **{"learn.room": code, "learn.guess": "0"})
    assert "before you joined" in messages(page)[0]
    assert ("ties", "a" * 32) not in rooms.find(code).answers  # a link alone sends nothing
    page.button(key="learn_room_send").click().run()
    assert rooms.find(code).answers["ties", "a" * 32] == 0
    page.pills(key="learn_lesson").set_value("sample").run()
    assert param(page, "learn.room") == code
    assert messages(page) == [f"Your prediction will be sent to room {code}, without your name."]
    page.button(key="learn_room_leave").click().run()
    assert "learn.room" not in page.query_params
    page.pills(key="learn_lesson").set_value("ties").run()
    assert not messages(page)
    assert not page.exception


@pytest.mark.parametrize("text", ["<b>x</b>", "BCDF", "=1+1", "A" * 5000, "BCDFG,BCDFG"])
def test_a_code_that_cannot_be_one_is_reported_and_the_lesson_works(rooms, text):
    page = enter("a" * 32, **{"learn.room": text})
    assert page.warning[0].value.startswith("Part of the link is not valid")
    page.text_input(key="learn_room_code").set_value(text[:20])
    next(button for button in page.button if button.label == "Join").click().run()
    assert any("A room code has 5 letters" in one.value for one in page.warning)
    page.radio(key="learn_guess").set_value(0).run()
    assert page.info[0].icon == ":material/psychology:"
    assert not page.exception


def test_an_unknown_code_is_reported_in_one_sentence_and_the_lesson_works(rooms):
    page = enter("a" * 32, **{"learn.room": "BCDFG"})
    sentence = "Room BCDFG is not open, so predictions are not sent; the lesson works as usual."
    assert [one.value for one in page.warning] == [sentence]
    page.radio(key="learn_guess").set_value(0).run()
    assert param(page, "learn.guess") == "0"
    assert page.info[0].icon == ":material/psychology:"
    assert not page.exception


def test_a_server_without_free_rooms_says_so(rooms):
    for k in range(MAX_ROOMS):
        rooms.create(str(k))
    page = enter("1" * 32)
    page.button(key="learn_room_open").click().run()
    assert f"All {MAX_ROOMS} rooms" in page.warning[0].value
    assert not page.metric
