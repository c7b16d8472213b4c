"""An upload in a real browser: dropped, previewed, used, trained, searched; or refused with reasons."""

import io
import re
import time
import zipfile
from collections.abc import Callable, Iterator

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

SHAPES = {"triangle": 3, "square": 4, "circle": 60}  # sides
COLOURS = ("red", "green", "blue", "orange")
COPIES = 5
PATIENCE_SECONDS = 180  # for whatever the server computes; nothing here depends on how long it takes


@pytest.fixture(autouse=True)
def patience(page: Page) -> Iterator[None]:
    """Wait long for everything, because reading and training share the machine with other work."""
    page.set_default_timeout(PATIENCE_SECONDS * 1000)
    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    yield
    expect.set_options(timeout=30_000)


def drawing(colour: str, sides: int, number: int) -> bytes:
    image = Image.new("RGB", (80, 80), "white")
    circle = (38 + number, 42 - number, 22 + 2 * number)
    ImageDraw.Draw(image).regular_polygon(circle, sides, rotation=3 * number, fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def drop(page: Page, app: str, name: str, content: bytes) -> None:
    """Drop a file on the uploader, as a mouse does."""
    page.goto(f"{app}/Data?data=planted")
    place = page.get_by_test_id("stFileUploaderDropzone")
    open_tab(page, "Upload", place)
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


def open_tab(page: Page, name: str, inside: Locator) -> None:
    """Click on a tab until its contents are visible; a click on a page that is being drawn may be lost."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not inside.is_visible():
        assert time.monotonic() < end, f"The tab {name} does not open"
        page.get_by_role("tab", name=name).click()
        page.wait_for_timeout(1000)


def results(page: Page) -> Locator:
    return page.locator(".st-key-wall img")


def search(page: Page, words: str, is_expected: Callable[[list[str]], bool]) -> None:
    """Type words, and wait until the first results are as expected; earlier results may be drawn before."""
    box = page.get_by_role("textbox", name="Type words")
    expect(box).to_be_visible()
    box.fill(words)
    box.press("Enter")
    expect(page).to_have_url(re.compile("search.words="))
    wait_for_results(page, is_expected)


def wait_for_results(page: Page, is_expected: Callable[[list[str]], bool]) -> None:
    end, found = time.monotonic() + PATIENCE_SECONDS, list[str]()
    while time.monotonic() < end:
        alts = "images => images.map(image => image.alt)"
        found = results(page).evaluate_all(alts)[:COPIES]
        if len(found) == COPIES and is_expected(found):
            return
        page.wait_for_timeout(200)
    pytest.fail(f"The first results are {found}")


def train(page: Page) -> None:
    """Click on Train, and wait for the results of the run."""
    page.get_by_role("button", name="Train on this data").click()
    expect(page.get_by_role("button", name="Open in Search")).to_be_visible()
    expect(page.locator(".st-key-scores").get_by_text("unseen items").first).to_be_visible()


def test_class_folders_are_trained_without_bad_files_and_again_with_corrected_labels(page: Page, app: str):
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        for shape, sides in SHAPES.items():
            for colour in COLOURS:
                for number in range(COPIES):
                    archive.writestr(f"{colour} {shape}/{number}.png", drawing(colour, sides, number))
        for number in (5, 6):  # in the wrong folder
            archive.writestr(f"blue square/{number}.png", drawing("red", 60, number))
        for name in ("cut.png", "text.png", "photo.heic"):
            archive.writestr(f"red circle/{name}", drawing("red", 60, 0)[:120])
    drop(page, app, "shapes.zip", file.getvalue())
    expect(page.get_by_text("3 items cannot be used")).to_be_visible()
    expect(page.get_by_text("The 12 folders are the classes.")).to_be_visible()
    page.get_by_role("button", name="Skip these 3 and continue").click()
    train(page)
    search(page, "red circle", lambda found: found.count("red circle") == COPIES)
    page.reload()  # the browser's cookie finds the upload and its run again
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("red circle")
    wait_for_results(page, lambda found: found.count("red circle") == COPIES)

    page.get_by_role("link", name="Data").click()
    open_tab(page, "Browse pairs", page.get_by_role("textbox", name="Words in the caption"))
    page.get_by_text("Edit labels", exact=True).click()
    page.get_by_role("textbox", name="Words in the caption").fill("blue square")
    page.get_by_role("textbox", name="Words in the caption").press("Enter")
    expect(page.get_by_text("Your data: 1 to 7 of 7 items")).to_be_visible()
    boxes = page.locator(".st-key-browse_items").get_by_text("Select", exact=True)
    for place, selected in ((5, "1 selected item"), (6, "2 selected item")):
        boxes.nth(place).click()
        expect(page.get_by_text(f"Label for {selected}")).to_be_visible()
    page.get_by_role("combobox", name="Label for 2 selected items").click()
    page.get_by_role("option", name="red circle").click()
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("2 items changed.")).to_be_visible()
    page.get_by_role("button", name="Apply changes").click()
    expect(page.get_by_text("0 items changed.")).to_be_visible()
    expect(page.get_by_text("Your data: 1 to 5 of 5 items")).to_be_visible()

    open_tab(page, "Upload", page.get_by_role("button", name="Train on this data"))
    train(page)
    page.get_by_role("link", name="Data").click()
    open_tab(page, "Browse pairs", page.get_by_role("textbox", name="Words in the caption"))
    page.get_by_role("textbox", name="Words in the caption").fill("red circle")
    page.get_by_role("textbox", name="Words in the caption").press("Enter")
    expect(page.get_by_text(f"Your data: 1 to {COPIES + 2} of {COPIES + 2} items")).to_be_visible()


def test_texts_of_an_upload_are_plain_text_and_private(page: Page, app: str, browser):
    requests, dialogs = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    words = "<img src=https://evil.invalid/a onerror=alert(1)> ![x](https://evil.invalid/b.png)"
    rows = "".join(f"{k % 3},{k},{k % 3},{words} {k},{words} {k % 3}\n" for k in range(12))
    drop(page, app, "words.csv", f"image:1,sound:1,sound:2,caption,labels\n{rows}".encode())
    page.get_by_role("button", name="Use this data").click()
    page.get_by_role("button", name="Browse this data").click()
    expect(page.get_by_text(f"{words} 0", exact=True).first).to_be_visible()
    page.get_by_role("combobox", name="Classes").click()
    expect(page.get_by_role("option").first).to_contain_text(words)
    assert not [url for url in requests if "evil" in url]
    assert not dialogs

    other = browser.new_context().new_page()
    other.goto(f"{app}/Data?data=planted")
    expect(other.get_by_role("heading", name="Planted")).to_be_visible()
    expect(other.get_by_role("heading", name="Your data")).to_have_count(0)
    other.context.close()
