"""Lessons as files: complete, and no text of the data can become markup."""

import html
import json
import re

import numpy as np
import pytest

from smfh.lessons.lesson_runs import Gallery, Series, WorkedLesson
from smfh.lessons.lessons import LESSONS
from smfh.lessons.offline import lesson_page, teacher_sheet

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def worked() -> WorkedLesson:
    series = tuple(Series(name, (0.5, 0.7, 0.6)) for name in ("database order", "best", "worst"))
    gallery = Gallery(HOSTILE, (0, 1, 2), (True, False, True))
    galleries = {HOSTILE: ((gallery,), (gallery,), (gallery,))}
    return WorkedLesson("bits", ("8", "16", HOSTILE), series, ("a", "b", HOSTILE), HOSTILE, galleries)


def test_a_lesson_page_holds_the_measurements_and_no_markup_of_the_data(worked, emoji):
    page = lesson_page("ties", worked, emoji, HOSTILE)
    assert HOSTILE not in page
    assert page.count("<script") == page.count("</script>") == 2
    content = json.loads(re.search(r'id="lesson">(.*?)</script>', page, re.DOTALL)[1])
    assert content["series"][0]["values"] == list(worked.series[0].values)
    assert content["galleries"][HOSTILE][0][0]["items"][1]["name"] == emoji.captions[1]
    assert content["verdicts"][LESSONS["ties"].predict(worked).truth].startswith("Correct")
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", page)


def test_the_sheet_has_question_and_measured_answer_of_every_lesson():
    bits = tuple(Series(name, (0.5, 0.7, 0.6)) for name in ("a", "b"))
    lessons = {name: WorkedLesson("x", ("1", "2", "3"), bits + bits[:1], ("", "", ""), HOSTILE, {}) for name in LESSONS}
    for name in ("seed", "directions"):
        lessons[name] = WorkedLesson("x", ("1", "2", "3"), bits, ("", "", ""), "", {})
    sheet = teacher_sheet(lessons)
    assert HOSTILE not in sheet
    for name, one in lessons.items():
        prediction = LESSONS[name].predict(one)
        assert html.escape(prediction.question) in sheet
        assert html.escape(LESSONS[name].task) in sheet
    assert np.all([f"{number}. " in sheet for number in range(1, len(LESSONS) + 1)])
