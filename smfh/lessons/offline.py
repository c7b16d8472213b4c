"""A lesson as one HTML file that works without a server, and the teacher's sheet for all lessons."""

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from smfh.lessons.lesson_runs import Gallery, WorkedLesson
from smfh.lessons.lessons import LESSONS
from smfh.types import MultimodalDataset

FOLDER = Path(__file__).parent
LESSON_MINUTES = 10  # two to predict, five with the slider, three for the answer
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
    lesson = LESSONS[name]
    prediction = lesson.predict(worked)

    def items(gallery: Gallery) -> Iterator[dict[str, Any]]:
        for row, relevant in zip(gallery.rows, gallery.relevant, strict=True):
            caption = data.captions[row] if data.captions else f"item {row}"
            picture = base64.b64encode(data.thumbnails[row]).decode() if data.thumbnails is not None else ""
            url = picture and f"data:image/*;base64,{picture}"  # browsers recognise the format
            yield {"name": caption, "picture": url, "relevant": relevant}

    content = {
        "axis": worked.axis,
        "stops": worked.stops,
        "notes": worked.notes,
        "series": [{"name": s.name, "unit": s.unit, "values": s.values} for s in worked.series],
        "galleries": {
            query: [[{"title": one.title, "items": list(items(one))} for one in stop] for stop in stops]
            for query, stops in worked.galleries.items()
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
    parts = [
        "<h1>Lessons on cross-modal hashing: teacher's sheet</h1>",
        f"<p>{len(worked)} lessons of {LESSON_MINUTES} minutes, {LESSON_MINUTES * len(worked)} in all. In each one, "
        "ask the class to predict before the slider moves, and collect the answers in a room (Learn, Lessons, "
        "“Collect answers from a class”) or by a show of hands.</p>",
    ]
    for number, (name, one) in enumerate(worked.items(), 1):
        lesson, escape = LESSONS[name], html.escape
        prediction = lesson.predict(one)
        parts.append(
            f'<section class="lesson"><h2>{number}. {escape(lesson.title)}</h2>'
            f"<p><b>Goal.</b> {escape(lesson.question)} <b>Time.</b> {LESSON_MINUTES} minutes.</p>"
            f"<p><b>Do.</b> {escape(lesson.task)} <b>Look.</b> {escape(lesson.look_at)}</p>"
            f"<p><b>Ask.</b> {escape(prediction.question)} ({escape(', '.join(prediction.options))})</p>"
            f"<p><b>Measured.</b> {escape(prediction.options[prediction.truth])}.</p>"
            f"<p><b>Explanation.</b> {escape(one.answer)}</p></section>"
        )
    return _page("Teacher's sheet", "\n".join(parts), {}, "")


def _page(title: str, body: str, content: Mapping[str, Any], script: str) -> str:
    """Return an HTML page with the data; each `<` in it is escaped, so no text can end the script element."""
    checksum = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    page = (FOLDER / "offline.html").read_text(encoding="utf-8")
    return page.format(title=html.escape(title), body=body, data=data, script=script, checksum=checksum)
