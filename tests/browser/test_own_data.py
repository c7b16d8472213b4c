"""Own data as a person brings it: dropped, looked at, used, trained, asked; or refused with reasons."""

import io
import re
import zipfile

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

SHAPES = {"triangle": 3, "square": 4, "circle": 60}  # sides
COLOURS = ("red", "green", "blue", "orange")
OF_A_KIND = 5
TRAINED = 60_000  # milliseconds


def drawing(colour: str, sides: int, number: int) -> bytes:
    image = Image.new("RGB", (80, 80), "white")
    circle = (38 + number, 42 - number, 22 + 2 * number)
    ImageDraw.Draw(image).regular_polygon(circle, sides, rotation=3 * number, fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def sixty_pictures(**other: bytes) -> bytes:
    """A .zip of 60 drawings with a table; `other` replaces or adds files by the name before the dot."""
    files = {"items": b"file,caption,labels\n"}
    for shape, sides in SHAPES.items():
        for colour in COLOURS:
            for number in range(OF_A_KIND):
                name = f"{colour}_{shape}_{number}"
                files[name] = drawing(colour, sides, number)
                files["items"] += f"{name}.png,a {colour} {shape} number {number},{shape}\n".encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in (files | other).items():
            zipped.writestr(f"{name}.csv" if name == "items" else f"{name}.png", content)
    return archive.getvalue()


def drop(page: Page, app: str, name: str, content: bytes) -> None:
    """Let the file fall on the place for it, as a mouse does."""
    page.goto(f"{app}/Data?data=planted")
    page.get_by_role("tab", name="Bring your own").click()
    place = page.get_by_test_id("stFileUploaderDropzone")
    expect(place).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    carried = page.evaluate_handle(
        """([name, bytes]) => {
            const carried = new DataTransfer();
            carried.items.add(new File([new Uint8Array(bytes)], name));
            return carried;
        }""",
        [name, list(content)],
    )
    place.dispatch_event("drop", {"dataTransfer": carried})


def answers(page: Page) -> Locator:
    return page.locator(".st-key-wall img")


def test_a_dropped_archive_is_looked_at_used_trained_and_answers_words_with_pictures(page: Page, app: str):
    drop(page, app, "shapes.zip", sixty_pictures())
    expect(page.get_by_text("shapes.zip · 60 items · image: pictures · text: captions")).to_be_visible()
    expect(page.get_by_text("3 classes: triangle (20), square (20), circle (20)")).to_be_visible()
    expect(page.get_by_role("img", name="a red triangle number 0")).to_be_visible()
    page.get_by_role("button", name="Use this data").click()

    page.get_by_role("button", name="Browse it").click()
    expect(page.get_by_text("Own data: 1 to 24 of 60 items")).to_be_visible()
    expect(page.get_by_role("img", name="a red square number 0")).to_be_visible()
    page.get_by_role("textbox", name="Words").fill("circle blue")
    page.get_by_role("textbox", name="Words").press("Enter")
    expect(page.get_by_text("Own data: 1 to 5 of 5 items")).to_be_visible()

    page.get_by_role("tab", name="Bring your own").click()
    page.get_by_role("button", name="Train on it").click()
    expect(page.get_by_role("button", name="Open in Search")).to_be_visible(timeout=TRAINED)
    ask(page, "a red circle number 2")
    found = [picture.get_attribute("alt") for picture in answers(page).all()[:OF_A_KIND]]
    assert all("circle" in caption for caption in found), f"a red circle was answered by {found}"


def ask(page: Page, words: str) -> None:
    box = page.get_by_role("textbox", name="Type words")
    box.fill(words)
    box.press("Enter")
    expect(page).to_have_url(re.compile("search.words="))
    expect(answers(page).nth(OF_A_KIND - 1)).to_be_visible()


def test_a_reload_keeps_the_data_and_what_is_forgotten_is_said_to_be_gone(page: Page, app: str):
    drop(page, app, "shapes.zip", sixty_pictures())
    page.get_by_role("button", name="Use this data").click()
    page.get_by_role("button", name="Train on it").click()
    expect(page.get_by_role("button", name="Open in Search")).to_be_visible(timeout=TRAINED)
    ask(page, "a red circle number 2")
    expect(page).to_have_url(re.compile("data=own"))
    explored = page.url
    page.reload()
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("a red circle number 2")
    expect(answers(page).nth(OF_A_KIND - 1)).to_have_attribute("alt", re.compile("circle number"))

    page.get_by_role("link", name="Data").click()
    page.get_by_role("tab", name="Bring your own").click()
    page.get_by_role("button", name="Forget it").click()
    gone = page.get_by_text("Your own data is not here")
    expect(gone).to_be_visible()
    page.goto(explored)
    expect(gone).to_be_visible()
    expect(page.get_by_role("combobox", name="Data").first).to_be_visible()
    expect(answers(page)).to_have_count(0)
    page.reload()
    expect(gone).to_be_visible()


def test_a_damaged_archive_is_refused_with_all_that_is_wrong(page: Page, app: str):
    table = "file,caption,labels\nred_circle_0.png,a red circle,circle\nblue_circle_1.png,,\nnone.png,a,b\n"
    cut_short = drawing("red", 60, 0)[:120]
    drop(page, app, "shapes.zip", sixty_pictures(items=table.encode(), red_circle_0=cut_short))
    expect(page.get_by_role("alert").filter(has_text="to be put right")).to_be_visible()
    for problem in (
        "Row 2 of items.csv: red_circle_0.png is truncated",
        "Row 3 of items.csv has no label",
        "Row 3 of items.csv has no text",
        "1 of the 3 pictures of items.csv are not among the files, or in several folders: 'none.png' (row 4)",
        "There are 3 items; at least 4 are needed",
    ):
        expect(page.get_by_text(problem)).to_be_visible()
    expect(page.get_by_role("button", name="Use this data")).to_have_count(0)

    whole = sixty_pictures()
    drop(page, app, "half.zip", whole[: len(whole) // 2])
    expect(page.get_by_text("half.zip is truncated")).to_be_visible()
    drop(page, app, "numbers.csv", b"image:1,text:1,labels\n1,2,a\nx,2,\n")
    expect(page.get_by_text("Row 3 of numbers.csv has no label")).to_be_visible()


def test_pictures_in_folders_with_a_table_of_other_columns_are_read_as_the_menus_say(page: Page, app: str):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        rows = ["picture,text,tags,kind"]
        for number, colour in enumerate(COLOURS * 2):
            archive.writestr(f"mine/photos/{number % 2}/{number}.png", drawing(colour, 3 + number, 0))
            rows.append(f"{number}.png,drawing {number},{colour};all,{'ab'[number % 2]}")
        archive.writestr("mine/list.csv", "\n".join(rows))
    drop(page, app, "mine.zip", file.getvalue())
    expect(page.get_by_text("5 classes: all (8), red (2)")).to_be_visible()
    page.get_by_role("radio", name="|").click()
    expect(page.get_by_text("4 classes: red;all (2)")).to_be_visible()
    page.get_by_role("combobox", name="Labels").click()
    page.get_by_role("option", name="kind").click()
    expect(page.get_by_text("2 classes: a (4), b (4)")).to_be_visible()
    page.get_by_role("button", name="Use this data").click()
    expect(page.get_by_text("mine.zip · 8 items: 6 to train, 2 to ask · 2 classes")).to_be_visible()


def test_words_of_the_data_are_neither_markup_nor_seen_by_others(page: Page, app: str, browser):
    asked_for, opened = [], []
    page.on("request", lambda request: asked_for.append(request.url))
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    words = "<img src=https://evil.invalid/a onerror=alert(1)> ![x](https://evil.invalid/b.png)"
    rows = "".join(f"{k % 3},{k},{k % 3},{words} {k},{words} {k % 3}\n" for k in range(12))
    drop(page, app, "words.csv", f"image:1,sound:1,sound:2,caption,labels\n{rows}".encode())
    page.get_by_role("button", name="Use this data").click()
    page.get_by_role("button", name="Browse it").click()
    expect(page.get_by_text(f"{words} 0", exact=True).first).to_be_visible()
    page.get_by_role("combobox", name="Classes").click()
    expect(page.get_by_role("option").first).to_contain_text(words)
    assert not [url for url in asked_for if "evil" in url]
    assert not opened

    other = browser.new_context().new_page()
    other.goto(f"{app}/Data?data=planted")
    expect(other.get_by_role("heading", name="Planted")).to_be_visible()
    expect(other.get_by_text("Own data")).to_have_count(0)
    other.context.close()
