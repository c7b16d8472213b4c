"""A lesson as one HTML file that works without a server, and the teacher's sheet for all lessons."""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smfh.lessons.lesson_runs import Gallery, WorkedLesson
from smfh.lessons.lessons import LESSONS, Lesson
from smfh.lessons.predictions import PREDICTIONS
from smfh.types import MultimodalDataset

FOLDER = Path(__file__).parent
LESSON_MINUTES = 10  # two to predict, five with the slider, three for the answer
PICTURE_TYPES = {b"\x89PNG": "image/png", b"RIFF": "image/webp", b"\xff\xd8\xff": "image/jpeg"}
BODY = """<h1>{question}</h1>
<p>{task} <b>Look:</b> {look_at}</p>
<div id="predict"><p><b>Predict first.</b> {prediction}</p><div id="options"></div>
<button id="skip">Show without predicting</button></div>
<div id="measured" hidden><p id="verdict" role="status"></p>
<p><span id="axis"></span>: <b id="at"></b> <input id="stop" type="range" min="0" value="0" step="1"></p>
<p><label>Query <select id="query"></select></label></p>
<p id="note"></p><div id="charts"></div><div id="walls"></div>
<details><summary>Answer</summary><p>{answer}</p></details></div>
<footer><p>{terms}</p></footer>"""


def lesson_page(name: str, worked: WorkedLesson, data: MultimodalDataset, terms: str = "") -> str:
    """Return a lesson as an HTML page with its measurements, pictures and script."""
    lesson, prediction = LESSONS[name], PREDICTIONS[name](worked)
    pictures: dict[int, str] = {}

    def item(row: int, relevant: bool) -> dict[str, Any]:
        if data.thumbnails is not None and row not in pictures:
            pictures[row] = _picture_url(data.thumbnails[row])
        caption = data.captions[row] if data.captions else f"item {row}"
        return {"name": caption, "picture": pictures.get(row, ""), "relevant": relevant}

    def gallery(one: Gallery) -> dict[str, Any]:
        pairs = zip(one.rows, one.relevant, strict=True)
        return {"title": one.title, "items": [item(row, relevant) for row, relevant in pairs]}

    content = {
        "axis": worked.axis,
        "stops": worked.stops,
        "notes": worked.notes,
        "series": [{"name": s.name, "unit": s.unit, "values": s.values} for s in worked.series],
        "galleries": {
            query: [[gallery(one) for one in stop] for stop in stops] for query, stops in worked.galleries.items()
        },
        "options": prediction.options,
        "verdicts": [prediction.verdict(guess) for guess in (*range(len(prediction.options)), -1)],
    }
    texts = {"question": lesson.question, "task": lesson.task, "look_at": lesson.look_at}
    texts |= {"prediction": prediction.question, "answer": worked.answer, "terms": terms}
    body = BODY.format_map({key: html.escape(text) for key, text in texts.items()})
    return _page(lesson.title, body, content, (FOLDER / "offline.js").read_text(encoding="utf-8"))


def teacher_sheet(worked: Mapping[str, WorkedLesson]) -> str:
    """Return a printable page with goal, time, question and answer of every lesson."""
    parts = ["<h1>Lessons on cross-modal hashing: teacher's sheet</h1>"]
    total = f"{len(worked)} lessons of {LESSON_MINUTES} minutes, {LESSON_MINUTES * len(worked)} in all."
    parts.append(
        f"<p>{total} In each one, ask the class to predict before the slider moves, and collect the "
        "answers in a room (Learn, Lessons, “Collect answers from a class”) or by a show of hands.</p>"
    )
    for number, (name, one) in enumerate(worked.items(), 1):
        parts.append(_sheet_part(number, LESSONS[name], name, one))
    return _page("Teacher's sheet", "\n".join(parts), {}, "")


def _sheet_part(number: int, lesson: Lesson, name: str, worked: WorkedLesson) -> str:
    prediction, escape = PREDICTIONS[name](worked), html.escape
    options = ", ".join(escape(option) for option in prediction.options)
    return (
        f'<section class="lesson"><h2>{number}. {escape(lesson.title)}</h2>'
        f"<p><b>Goal.</b> {escape(lesson.question)} <b>Time.</b> {LESSON_MINUTES} minutes.</p>"
        f"<p><b>Do.</b> {escape(lesson.task)} <b>Look.</b> {escape(lesson.look_at)}</p>"
        f"<p><b>Ask.</b> {escape(prediction.question)} ({options})</p>"
        f"<p><b>Measured.</b> {escape(prediction.options[prediction.truth])}.</p>"
        f"<p><b>Explanation.</b> {escape(worked.answer)}</p></section>"
    )


def _page(title: str, body: str, content: Mapping[str, Any], script: str) -> str:
    """Fill the page; `<` of the data is written as an escape, so that no text can end the script element."""
    checksum = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    page = (FOLDER / "offline.html").read_text(encoding="utf-8")
    return page.format(title=html.escape(title), body=body, data=data, script=script, checksum=checksum)


def _picture_url(picture: bytes) -> str:
    kind = next((kind for start, kind in PICTURE_TYPES.items() if picture.startswith(start)), "image/png")
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"
