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


def sixty_pictures(**other: bytes) -> bytes:
    """A .zip of 60 drawings with a table; `other` replaces or adds files by the name before the dot."""
    files = {"items": b"file,caption,labels\n"}
    for shape, sides in SHAPES.items():
        for colour in COLOURS:
            for number in range(COPIES):
                name = f"{colour}_{shape}_{number}"
                files[name] = drawing(colour, sides, number)
                files["items"] += f"{name}.png,a {colour} {shape} number {number},{shape}\n".encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in (files | other).items():
            zipped.writestr(f"{name}.csv" if name == "items" else f"{name}.png", content)
    return archive.getvalue()


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


def test_a_dropped_archive_is_previewed_used_trained_and_searched(page: Page, app: str):
    drop(page, app, "shapes.zip", sixty_pictures())
    expect(page.get_by_text("shapes.zip · 60 items · image: pictures · text: captions")).to_be_visible()
    expect(page.get_by_text("3 classes: triangle (20), square (20), circle (20)")).to_be_visible()
    expect(page.get_by_role("img", name="a red triangle number 0")).to_be_visible()
    page.get_by_role("button", name="Use this data").click()

    page.get_by_role("button", name="Browse this data").click()
    expect(page.get_by_text("Your data: 1 to 24 of 60 items")).to_be_visible()
    expect(page.get_by_role("img", name="a red square number 0")).to_be_visible()
    page.get_by_role("textbox", name="Words").fill("circle blue")
    page.get_by_role("textbox", name="Words").press("Enter")
    expect(page.get_by_text("Your data: 1 to 5 of 5 items")).to_be_visible()

    open_tab(page, "Upload", page.get_by_role("button", name="Train on this data"))
    train(page)
    search(page, "a red circle number 2", all_circles)


def all_circles(captions: list[str]) -> bool:
    return all("circle" in caption for caption in captions)


def test_an_upload_survives_a_reload_and_a_deleted_one_is_reported(page: Page, app: str):
    drop(page, app, "shapes.zip", sixty_pictures())
    page.get_by_role("button", name="Use this data").click()
    train(page)
    search(page, "a red circle number 2", all_circles)
    expect(page).to_have_url(re.compile("data=own"))
    explored = page.url
    page.reload()
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("a red circle number 2")
    wait_for_results(page, all_circles)

    page.get_by_role("link", name="Data").click()
    open_tab(page, "Upload", page.get_by_role("button", name="Delete this data"))
    page.get_by_role("button", name="Delete this data").click()
    gone = page.get_by_text("Your upload is not on the server")
    expect(gone).to_be_visible()
    page.goto(explored)
    expect(gone).to_be_visible()
    expect(page.get_by_role("combobox", name="Data").first).to_be_visible()
    expect(results(page)).to_have_count(0)
    page.reload()
    expect(gone).to_be_visible()


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


def test_every_problem_of_a_damaged_archive_is_listed(page: Page, app: str):
    table = "file,caption,labels\nred_circle_0.png,a red circle,circle\nblue_circle_1.png,,\nnone.png,a,b\n"
    truncated = drawing("red", 60, 0)[:120]
    drop(page, app, "shapes.zip", sixty_pictures(items=table.encode(), red_circle_0=truncated))
    expect(page.get_by_role("alert").filter(has_text="to continue")).to_be_visible()
    for problem in (
        "1 missing picture: Row 4 of items.csv: 'none.png' was not found, or is in several folders",
        "1 unreadable: red_circle_0.png is truncated",
        "1 no label: Row 3 of items.csv: has no label",
        "There are 0 items that can be used; training and queries need at least 4",
    ):
        expect(page.get_by_text(problem)).to_be_visible()
    expect(page.get_by_role("button", name="Use this data")).to_have_count(0)

    whole = sixty_pictures()
    drop(page, app, "half.zip", whole[: len(whole) // 2])
    expect(page.get_by_text("half.zip is truncated")).to_be_visible()
    drop(page, app, "numbers.csv", b"image:1,text:1,labels\n1,2,a\nx,2,\n")
    expect(page.get_by_text("1 damaged row: Row 2 of numbers.csv")).to_be_visible()


def test_columns_of_a_table_are_chosen_in_menus(page: Page, app: str):
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
    page.get_by_role("combobox", name="Labels", exact=True).click()
    page.get_by_role("option", name="kind").click()
    expect(page.get_by_text("2 classes: a (4), b (4)")).to_be_visible()
    page.get_by_role("button", name="Use this data").click()
    summary = "mine.zip · 8 items: 6 training items, 2 held-out queries · 2 classes"
    expect(page.get_by_text(summary)).to_be_visible()


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
