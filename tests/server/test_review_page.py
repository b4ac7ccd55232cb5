"""The Review view in a real browser, with two reviewers."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

TEXTS = ("Zed Moon lives in Oslo", "Bob Stone met Eve in Lima", "The wind fell on 3 May", "Ada Stone left", "Fay ran")

ANOTHER = """before => {
  const board = document.querySelector(".board");
  return board.hidden || board.querySelector(".paragraph").firstChild.data !== before;
}"""

ANSWER = """text => fetch("/review/answer", {
  method: "POST",
  body: JSON.stringify({ reviewer: "bob", text, entities: [] }),
  headers: { Authorization: `Bearer ${sessionStorage.getItem("nearspan-token")}` },
})"""

HELD = """text => fetch("/memory?" + new URLSearchParams({ text })).then((answer) => answer.json())"""

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(folders["instance"], tmp_path / "model")


@pytest.fixture
def server(serve, folder: Path, tmp_path: Path) -> Iterator[str]:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n".join(TEXTS))
    with serve(folder, "--review", texts) as address:
        yield address


@pytest.fixture
def reviewers(browser, server: str) -> Iterator[dict[str, object]]:
    """The pages of two reviewers, each in a browser of their own, on which nothing went wrong."""
    pages, contexts, errors = {}, [], list[str]()
    for name, width in (("ada", 1100), ("bob", 390)):
        contexts.append(browser.new_context(viewport={"width": width, "height": 780}, accept_downloads=True))
        contexts[-1].set_default_timeout(30_000)
        page = pages[name] = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(server)
        page.get_by_label("Your name").wait_for()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.locator(".board .paragraph").wait_for()
    yield pages
    assert errors == []
    for context in contexts:
        context.close()


def text_of(page) -> str:
    return page.locator(".board .paragraph").evaluate("block => block.firstChild.data")


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def answer(page) -> str:
    """Press Enter and wait for the next text, or for the end; the text that was answered."""
    before = text_of(page)
    page.keyboard.press("Enter")
    page.wait_for_function(ANOTHER, arg=before)
    return before


def marks(page) -> list[str]:
    return page.locator(".board button.mark").evaluate_all("marks => marks.map((mark) => mark.ariaLabel)")


def held(page, text: str) -> list[dict]:
    """The memory's sentences with a text, by the server."""
    return page.evaluate(HELD, text)["sentences"]


def test_two_reviewers_answer_everything_by_keyboard_and_no_text_twice(reviewers):
    answered = {name: [] for name in reviewers}
    while any(not page.locator(".board").is_hidden() for page in reviewers.values()):
        for name, page in reviewers.items():
            if page.locator(".board").is_hidden():
                continue
            [other] = (other for who, other in reviewers.items() if who != name)
            assert other.locator(".board").is_hidden() or text_of(other) != text_of(page)
            answered[name].append(answer(page))
            assert len(held(page, answered[name][-1])) == 1
    assert sorted(answered["ada"] + answered["bob"]) == sorted(TEXTS)
    reviewers["ada"].get_by_role("button", name="Ask again").click()
    reviewers["ada"].get_by_text("All texts are answered.").first.wait_for()


def test_words_are_chosen_labelled_and_corrected_by_keyboard(reviewers):
    page = reviewers["ada"]
    press(page, "ArrowDown", "Delete", "ArrowDown", "Delete", "ArrowDown", "Delete")
    assert marks(page) == []
    press(page, "Escape", "ArrowRight", "Shift+ArrowRight", "2")
    words = " ".join(text_of(page).split()[:2])
    assert f"{words}, PLACE" in marks(page)
    assert page.locator("#chosen").inner_text().startswith(f"Chosen: {words}, PLACE")
    press(page, "1")
    assert f"{words}, PERSON" in marks(page)
    shown = marks(page)
    text = answer(page)
    [sentence] = held(page, text)
    assert [f"{each['text']}, {each['label']}" for each in sentence["entities"]] == shown
    press(page, "u")
    page.get_by_role("status").get_by_text("Your last answer is undone.").wait_for()
    assert text_of(page) == text
    assert held(page, text) == []


def test_words_are_chosen_by_hand_on_a_phone_too(reviewers):
    page = reviewers["bob"]
    press(page, "ArrowDown", "0", "ArrowDown", "0")
    page.locator(".board .paragraph").click(position={"x": 10, "y": 14})
    page.get_by_role("button", name="PLACE").click()
    assert f"{text_of(page).split()[0]}, PLACE" in marks(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_skipped_text_goes_to_the_other_reviewer(reviewers):
    ada, bob = reviewers["ada"], reviewers["bob"]
    skipped = text_of(ada)
    press(ada, "s")
    ada.wait_for_function(ANOTHER, arg=skipped)
    seen = [answer(bob) for _ in range(4)]
    assert skipped in seen


def test_an_answer_that_came_second_is_said_and_the_text_stays(reviewers, folder: Path):
    ada, bob = reviewers["ada"], reviewers["bob"]
    text = text_of(ada)
    (folder / "review.json").write_text("{}")  # the time of both is over
    bob.evaluate(ANSWER, text)
    press(ada, "ArrowRight", "1", "Enter")
    note = ada.get_by_role("group", name="Note")
    note.get_by_text("bob has answered this text meanwhile").wait_for()
    assert text_of(ada) == text
    assert marks(ada) != []
    note.get_by_role("button", name="Next text").click()
    ada.wait_for_function(ANOTHER, arg=text)


def test_a_reload_goes_on_with_the_same_text_and_answers_are_downloaded(reviewers):
    page = reviewers["ada"]
    answer(page)
    text = text_of(page)
    page.reload()
    page.locator(".board .paragraph").wait_for()
    assert text_of(page) == text
    assert page.locator("#review-progress").inner_text().startswith("1 of 5 texts answered, 4 left.")
    page.get_by_label("All answers as").select_option("conll")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "answers.conll"
