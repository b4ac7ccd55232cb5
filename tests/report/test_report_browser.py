"""The report in a real browser: the system's Chromium, driven by Playwright, without any server."""

from collections.abc import Iterator

import pytest

from nearspan.report import Report

pytestmark = pytest.mark.browser
SIZE = 25  # errors on a page


@pytest.fixture(params=[1100, 390], ids=["desktop", "phone"])
def page(browser, made: Report, request: pytest.FixtureRequest) -> Iterator[object]:
    """The report, on which nothing went wrong and which asked for no other file."""
    page = browser.new_page(viewport={"width": request.param, "height": 800})
    urls: list[str] = []
    errors: list[str] = []
    page.on("request", lambda asked: urls.append(asked.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(made.page.as_uri())
    yield page
    page.close()
    assert errors == []
    assert urls == [made.page.as_uri()]


def test_errors_come_in_pages(page, made: Report):
    total = len(made.results.errors)
    assert total > SIZE
    output, shown = page.locator(".pager output"), page.locator("[data-items=errors] > :visible")
    assert output.text_content() == f"1–{SIZE} of {total}"
    assert shown.count() == SIZE
    page.get_by_role("button", name="next").click()
    assert output.text_content() == f"{SIZE + 1}–{min(2 * SIZE, total)} of {total}"
    page.get_by_role("button", name="previous").click()
    assert page.get_by_role("button", name="previous").is_disabled()


def test_a_number_of_the_confusion_matrix_chooses_its_errors(page, made: Report):
    button = page.locator("[data-filter=errors]").first
    count = int(button.text_content())
    button.click()
    assert page.locator(".pager output").text_content().endswith(f" of {count}")
    error = page.locator("[data-items=errors] > :visible").first
    error.locator("summary").click()
    assert error.locator(".evidence, .note").first.is_visible()


def test_kinds_and_labels_choose_errors(page, made: Report):
    kind, count = next(iter(made.results.error_counts[0].items()))
    page.get_by_label("kind").select_option(kind)
    assert page.locator(".pager output").text_content().endswith(f" of {count}")
    page.get_by_label("gold").select_option("none")
    page.locator("select[name=predicted]").select_option("none")
    assert page.locator(".pager output").text_content() == "none"


def test_the_page_fits_the_screen_and_labels_have_their_colours(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chip = page.locator(".chip.c0").first
    assert chip.evaluate("element => getComputedStyle(element).color") == "rgb(180, 72, 63)"
