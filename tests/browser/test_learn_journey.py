"""The Learn page in a browser: one iteration, a lesson from its link, the replay; and a flipped bit."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from smfh.lessons.diagram import box_values
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_INFO, Snapshot, walk_through

pytestmark = pytest.mark.slow

TRAINED_MS = 90_000


def until_still(page: Page) -> None:
    """Wait until the page is drawn, as a person would."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def heading(page: Page, iteration: int, step: str) -> Locator:
    number = list(STEP_INFO).index(step) + 1
    return page.get_by_role("heading", name=f"Iteration {iteration}, step {number}: {STEP_INFO[step].title}")


def press(page: Page, slider: str, key: str) -> None:
    until_still(page)
    page.locator(f".st-key-{slider} input").press(key)


def names(pictures: Locator) -> list[str]:
    return [picture.get_attribute("alt") for picture in pictures.all()]


def numbers_in(diagram: Locator) -> dict[str, float]:
    """Every number of the diagram, by box, row and column."""
    read = "all => Object.fromEntries(all.map(one => [one.dataset.cell, one.dataset.value]))"
    found = diagram.locator("rect.cell").evaluate_all(read)
    return {cell: float(value) for cell, value in found.items()}


def numbers_of(snapshot: Snapshot) -> dict[str, float]:
    boxes = box_values(snapshot, "text", 0)
    boxes.pop("results:")
    return {
        f"{box}:{i}:{k}": value
        for box, rows in boxes.items()
        for i, row in enumerate(rows.tolist())
        for k, value in enumerate(row)
    }


def test_the_diagram_shows_the_state_of_the_core_to_the_last_digit(page: Page, app: str, emoji):
    walkthrough = walk_through(make_example(emoji, default_rows(emoji)), DEFAULT_METHOD)
    page.goto(f"{app}/Learn")
    diagram = page.locator(".st-key-learn_diagram")
    expect(diagram.locator("svg[role=group]")).to_be_visible(timeout=TRAINED_MS)
    until_still(page)
    assert numbers_in(diagram) == numbers_of(walkthrough.steps[-1].after)
    order = diagram.locator(".result").evaluate_all("all => all.map(one => Number(one.dataset.item))")
    assert order == box_values(walkthrough.steps[-1].after, "text", 0)["results:"].tolist()

    diagram.locator("input.stage").press("Home")  # the random start
    assert numbers_in(diagram) == numbers_of(walkthrough.steps[0].before)
    diagram.get_by_role("button", name="Play").click()
    expect(diagram.locator(".now")).to_contain_text("Iteration 2, step 1")
    diagram.get_by_role("button", name="Pause").click()
    stage = int(diagram.locator("input.stage").input_value())
    assert numbers_in(diagram) == numbers_of(walkthrough.steps[stage - 1].after)
    expect(page).to_have_url(re.compile(rf"learn\.stage={stage}"))

    until_still(page)
    diagram.locator("[data-box='function:text']").press("Enter")  # by keyboard
    box = page.locator(".st-key-learn_box")
    expect(box.get_by_role("heading", name="The hash functions W")).to_be_visible()
    expect(box).to_contain_text("np.linalg.solve")
    until_still(page)
    page.locator(".st-key-learn_alpha input").press("End")
    expect(page).to_have_url(re.compile(r"learn\.alpha=50"))
    stronger = walk_through(walkthrough.example, replace(DEFAULT_METHOD, graph_weight=50.0))
    until_still(page)
    expect(diagram.locator("[data-cell='relaxed::0:0']")).to_have_attribute(
        "data-value", str(stronger.steps[stage - 1].after.Y[0, 0])
    )
    assert numbers_in(diagram) == numbers_of(stronger.steps[stage - 1].after)


def test_one_step_fits_on_a_screen_in_presentation_mode(page: Page, app: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    for step in STEP_INFO:
        page.goto(f"{app}/Learn?present=true&learn.part=iteration&learn.step={step}&learn.iteration=2")
        expect(heading(page, 2, step)).to_be_visible(timeout=TRAINED_MS)
        until_still(page)
        for part in (page.locator(".st-key-learn_entry"), page.locator(".st-key-learn_matrices .groups").first):
            expect(part).to_be_visible()
            place = part.bounding_box()
            assert place["y"] >= 0
            assert place["y"] + place["height"] <= 720, step
        inputs, outputs = page.locator(".st-key-learn_matrices .group").all()
        assert inputs.bounding_box()["x"] < outputs.bounding_box()["x"]
        assert inputs.get_by_role("heading").inner_text() == "Inputs"


def test_steps_of_an_iteration_and_the_numbers_of_an_entry(page: Page, app: str, browser):
    page.goto(f"{app}/Learn?learn.part=iteration")
    for place, step in enumerate([*STEP_INFO, "bases"]):
        iteration = 1 + place // len(STEP_INFO)
        expect(heading(page, iteration, step)).to_be_visible(timeout=TRAINED_MS)
        expect(page.locator(".st-key-learn_matrices button.changed").first).to_be_attached()
        if place < len(STEP_INFO):
            until_still(page)
            page.get_by_role("button", name="Forward").click()
    expect(page).to_have_url(re.compile(r"learn\.iteration=2"))

    until_still(page)
    cell = page.get_by_role("button", name=re.compile(r"^U text, face, bit 1: ")).last  # as it comes out
    cell.click()
    update = page.locator(".st-key-learn_entry")
    expect(update).to_contain_text("U of text, face, bit 1")
    expect(page).to_have_url(re.compile(r"learn\.entry=basis(:|%3A)text(:|%3A)1(:|%3A)1"))
    expect(cell).to_have_class(re.compile("selected"))
    shown, text = cell.inner_text(), re.search(r"bit 1: ([\d.]+)", update.inner_text())
    assert float(text[1]) == pytest.approx(float(shown), abs=0.0051)

    page.get_by_role("button", name="Play").click()
    expect(heading(page, 2, "sample")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()

    other = browser.new_context().new_page()
    other.goto(page.url)
    iteration = re.search(r"learn\.iteration=(\d+)", page.url)[1]
    expect(other.get_by_role("heading", name=f"Iteration {iteration}, step")).to_be_visible(timeout=TRAINED_MS)
    other.context.close()


def test_a_lesson_from_its_link_follows_the_slider_and_hides_its_answer(page: Page, app: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{app}/Learn?present=true&learn.lesson=two-truths&learn.at=2")
    expect(page.get_by_text("α = 5:")).to_be_visible(timeout=TRAINED_MS)
    expect(page.get_by_role("radiogroup", name="Part")).to_have_count(0)
    pictures = page.locator(".st-key-lesson_walls li img")
    expect(pictures.first).to_be_visible()
    before = names(pictures)
    press(page, "learn_at", "End")
    expect(page.get_by_text("α = 400:")).to_be_visible()
    expect(page).to_have_url(re.compile(r"learn\.at=8"))
    until_still(page)
    assert names(pictures) != before
    answer = page.get_by_text(re.compile("whole ranking at α = "))
    expect(answer).not_to_be_visible()
    page.get_by_text("Answer", exact=True).click()
    expect(answer).to_be_visible()


def test_a_lesson_works_as_a_file_without_a_server(page: Page, app: str, tmp_path):
    page.goto(f"{app}/Learn?learn.lesson=two-truths")
    with page.expect_download() as started:
        page.get_by_role("button", name="Lesson as a file").click(timeout=TRAINED_MS)
    file = tmp_path / "lesson.html"
    started.value.save_as(file)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.context.set_offline(True)
    page.goto(file.as_uri())
    expect(page.locator("#measured")).to_be_hidden()
    page.locator("#options button").first.click()
    expect(page.locator("#verdict")).to_contain_text("Measured:")
    expect(page.locator("#note")).to_contain_text("α = 0:")
    page.locator("#stop").press("End")
    expect(page.locator("#note")).to_contain_text("α = 400:")
    picture = page.locator("#walls img").first
    assert picture.evaluate("one => one.decode().then(() => one.naturalWidth)") > 0
    assert problems == []


def test_the_replay_improves_and_a_bit_can_be_flipped(page: Page, app: str):
    page.goto(f"{app}/Learn?learn.part=film")
    title = page.locator(".st-key-film_ranking h4")
    expect(title).to_be_visible(timeout=TRAINED_MS)
    expect(page.locator(".st-key-film_map canvas")).to_be_visible()
    last = int(re.search(r": (\d+) of 12", title.inner_text())[1])
    press(page, "learn_frame", "Home")
    expect(page).to_have_url(re.compile(r"learn\.frame=1(&|$)"))
    expect(page.get_by_text(re.compile("^Iteration 1: the objective is at 100"))).to_be_visible()
    until_still(page)
    first = int(re.search(r": (\d+) of 12", title.inner_text())[1])
    assert last > first

    page.goto(f"{app}/Search?data=emoji&search.words=cat")
    editor = page.get_by_text("Edit the code", exact=True)
    expect(editor).to_be_visible(timeout=TRAINED_MS)
    until_still(page)
    editor.click()
    page.locator(".st-key-search_code").get_by_role("button", name="3", exact=True).click()
    expect(page).to_have_url(re.compile(r"search\.flips=3"))
    expect(page.get_by_text(re.compile("Edit the code · 1 bit flipped"))).to_be_visible()
