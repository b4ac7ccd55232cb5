"""The page in a real browser: the system's Chromium, driven by Playwright, on a server process of its own."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearspan.colours import LabelColours

TEXT = "Ada lives in Oslo"
CORRECT = re.compile("^Correct it")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(serve, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, documents) -> Iterator[str]:
    """The address of a server on a copy of the tiny model, token and all."""
    import nearspan

    folder = shutil.copytree(folders["instance"], tmp_path_factory.mktemp("served") / "model")
    gold = folder.with_name("gold.jsonl")
    mislabelled = nearspan.markup("[Ada](PLACE) lives in [Oslo](PLACE)", id="wrong")
    nearspan.write([mislabelled, *documents[1:3]], gold)
    with serve(folder, "--corpus", gold) as address:
        yield address


@pytest.fixture
def page(browser, server: str) -> Iterator[object]:
    """The page, on which nothing went wrong and which asked no other host for anything."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(30_000)
    page = context.new_page()
    urls: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(server)
    page.locator("#examples button").first.wait_for()
    yield page
    origin = server.split("#")[0]
    assert [url for url in urls if not url.startswith(origin)] == []
    assert errors == []
    context.close()


def annotate(page, text: str) -> None:
    page.get_by_label("Your text").fill(text)
    page.get_by_role("button", name="Find entities").click()
    page.locator("#passage").get_by_text(text.split("\n")[0][:40]).first.wait_for()


def fake_annotate(page, entities: list[dict]) -> None:
    """Let the server find these, whatever the text."""
    page.route(
        "**/annotate", lambda route: route.fulfill(json={"documents": [{"id": "", "text": "", "entities": entities}]})
    )


def entity(text: str, label: str, *fragments: tuple[int, int]) -> dict:
    edges = {"start": fragments[0][0], "end": fragments[-1][1], "fragments": fragments}
    return {"text": " ".join(text[a:b] for a, b in fragments), "label": label, "score": 0.9} | edges


def mark_of(page, name: str):
    """The mark of an entity in the text."""
    return page.locator("#passage").get_by_role("button", name=name)


OVERLAPPING = """() => {
  const boxes = [...document.querySelectorAll('#passage .mark, #passage .bar, #passage .gap')].map((mark) => {
    const box = mark.getBoundingClientRect();
    return { entity: mark.dataset.entity, left: box.left, right: box.right, top: box.top, bottom: box.bottom };
  });
  boxes.sort((upper, lower) => upper.top - lower.top);
  const overlaps = [];
  boxes.forEach((upper, at) => {
    for (const lower of boxes.slice(at + 1)) {
      if (lower.top >= upper.bottom) break;
      if (upper.entity !== lower.entity && upper.left < lower.right && lower.left < upper.right) overlaps.push([upper, lower]);
    }
  });
  return overlaps;
}"""

# whether the bars of each entity are exactly under its words, line by line, and nowhere else
UNDERLINED = """(texts) => texts.map((pieces, index) => {
  const bars = [...document.querySelectorAll(`#passage .bar[data-entity="${index}"]`)].map((bar) => bar.getBoundingClientRect());
  const blocks = [...document.querySelectorAll('#passage .paragraph')].map((block) => block.firstChild);
  const letters = pieces.flatMap((piece) => {
    const words = blocks.find((block) => block.data.includes(piece));
    const start = words.data.indexOf(piece);
    return [...piece.matchAll(/./gu)].flatMap(({ 0: letter, index: at }) => {
      const range = document.createRange();
      range.setStart(words, start + at);
      range.setEnd(words, start + at + letter.length);
      return [...range.getClientRects()].filter((box) => box.width >= 0.5).map((box) => ({ letter, box }));
    });
  });
  const under = (box, bar) => bar.top >= box.top && bar.top - box.bottom < 120 && bar.left <= box.left + 1 && bar.right >= box.right - 1;
  const ends = (bar) => ['left', 'right'].every((side) => letters.some(({ box }) => Math.abs(box[side] - bar[side]) <= 1));
  return letters.length > 0 && letters.every(({ letter, box }) => !letter.trim() || bars.some((bar) => under(box, bar))) && bars.every(ends);
})"""


def test_annotate_and_explain(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    panel = page.get_by_role("complementary", name="Evidence")
    panel.get_by_role("heading", name="Oslo").wait_for()
    assert "add up to the probability" in panel.inner_text()
    widths = panel.locator("section .track i").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    weights = [100 * float(weight) for weight in panel.locator("section .weight b").all_inner_texts()]
    assert widths == pytest.approx(weights, abs=0.06)
    assert re.match(
        r"Remove (this|these \d+) training spans? and it (becomes|is no longer)", panel.locator("summary").inner_text()
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_label_has_the_colour_that_it_has_everywhere(page, scheme):
    page.emulate_media(color_scheme=scheme)
    annotate(page, TEXT)
    tone = getattr(LabelColours(["PERSON", "PLACE"])["PLACE"], scheme)
    colour = page.locator("#passage .bar[data-entity='1']").evaluate("bar => getComputedStyle(bar).backgroundColor")
    assert colour == f"rgb({int(tone[1:3], 16)}, {int(tone[3:5], 16)}, {int(tone[5:], 16)})"


def test_a_word_of_the_text_opens_its_entity_and_a_selection_asks_about_any(page):
    annotate(page, TEXT)
    words = page.locator("#passage .paragraph")
    words.click(position={"x": 12, "y": 14})
    page.get_by_role("heading", name="Ada").wait_for()
    page.get_by_label("Ask about other words").fill("lives")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="lives").wait_for()
    words.dblclick(position={"x": 12, "y": 14})
    page.get_by_role("heading", name="Ada").wait_for()


def test_correct_and_undo(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    page.get_by_label("Correct it").select_option("PERSON")
    page.get_by_role("button", name="Relabel").click()
    page.get_by_role("button", name=CORRECT).click()
    mark_of(page, "Oslo, PERSON").wait_for()
    page.get_by_role("status").get_by_text("“Oslo” is PERSON in the memory now.").wait_for()
    page.get_by_role("button", name="Undo").click()
    mark_of(page, "Oslo, PLACE").wait_for()
    page.get_by_role("button", name="Not an entity").click()
    page.get_by_role("button", name=CORRECT).click()
    page.get_by_role("button", name="Undo").wait_for()
    assert mark_of(page, "Oslo").count() == 0
    page.get_by_role("button", name="Undo").click()
    mark_of(page, "Oslo, PLACE").wait_for()


def test_a_preview_says_what_a_correction_breaks_before_it_is_made(page):
    annotate(page, TEXT)
    answer = {"effect": "broken", "sentence": "Bob left Oslo", "text": "Oslo", "before": "PLACE", "after": "PERSON"}

    def harm(route) -> None:
        content = route.fetch().json()
        route.fulfill(json=content | {"broken": 1, "harms": True, "changes": [answer | {"gold": "PLACE"}]})

    page.route("**/memory/corrections/preview", harm)
    mark_of(page, "Oslo, PLACE").click()
    page.get_by_role("button", name="Relabel").click()
    preview = page.get_by_role("group", name="Preview")
    preview.get_by_text("It breaks more than it mends.").wait_for()
    assert "broken “Oslo”: PLACE → PERSON Bob left Oslo" in preview.inner_text()
    assert mark_of(page, "Oslo, PLACE").count() == 1  # nothing is edited yet
    preview.get_by_role("button", name="Leave it").click()
    preview.wait_for(state="detached")


def test_a_sentence_that_is_new_to_the_memory_is_counted_until_undone(page):
    annotate(page, "Ada lives in Lima")
    page.get_by_label("Ask about other words").fill("lives")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name=CORRECT).click()
    page.get_by_role("button", name="Undo").wait_for()
    assert "12 sentences" not in page.locator("#model").inner_text()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("12 sentences").wait_for()


def test_a_training_span_is_removed_and_brought_back(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    rows = page.locator(".neighbours li")
    before = rows.first.inner_text()
    rows.first.get_by_role("button").click()
    page.get_by_text("is out of the memory").first.wait_for()
    assert rows.first.inner_text() != before
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("It is undone").wait_for()
    assert rows.first.inner_text() == before


def test_undo_runs_once_however_often_it_is_clicked_and_reads_the_text_that_was_corrected(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    page.locator(".neighbours li").first.get_by_role("button").click()
    page.get_by_role("button", name="Undo").wait_for()
    page.get_by_label("Your text").fill("Something else")
    undone: list[str] = []
    page.on("request", lambda request: undone.append(request.url) if "/memory/undo" in request.url else None)
    page.get_by_role("button", name="Undo").dblclick()
    page.get_by_text("It is undone").wait_for()
    assert len(undone) == 1
    assert page.locator("#passage .paragraph").evaluate("block => block.firstChild.data") == TEXT
    page.get_by_role("heading", name="Oslo").wait_for()


def test_an_entity_that_is_chosen_wins_over_words_selected_before(page):
    annotate(page, TEXT)
    page.locator("#passage .paragraph").dblclick(position={"x": 50, "y": 14})
    page.get_by_role("heading", name="lives").wait_for()
    questions: list[str] = []
    page.on("request", lambda request: questions.append(request.post_data) if "/neighbours" in request.url else None)
    mark_of(page, "Oslo, PLACE").click()
    page.get_by_role("heading", name="Oslo").wait_for()
    page.evaluate("new Promise((done) => setTimeout(done))")
    assert len(questions) == 1


def test_words_are_asked_about_at_each_place_where_they_are_whole(page):
    annotate(page, "Oslove, Oslo and Oslo")
    questions: list[dict] = []
    page.on(
        "request", lambda request: questions.append(request.post_data_json) if "/neighbours" in request.url else None
    )
    page.get_by_label("Ask about other words").fill("Oslo")
    for _ in range(3):
        with page.expect_response("**/neighbours"):
            page.get_by_role("button", name="Ask", exact=True).click()
        page.locator("#evidence-title:focus").wait_for()
    assert [question["fragments"] for question in questions] == [[[8, 12]], [[17, 21]], [[8, 12]]]


def give_token(page, title: str, token: str) -> None:
    page.get_by_role("dialog", name=title).wait_for()
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Use it").click()


def test_without_a_token_it_is_asked_for(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.split("#")[0])
    page.locator("#examples button").first.wait_for()
    annotate(page, TEXT)
    mark_of(page, "Ada").click()
    page.get_by_role("button", name="Relabel").click()
    for token in ("wrong", "s\u00e9same"):
        give_token(page, "Editing needs the token", token)
        page.get_by_role("alert").get_by_text("This token is wrong.").wait_for()
        page.wait_for_function("document.getElementById('token-value').value === ''")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").wait_for(state="hidden")
    page.get_by_role("status").get_by_text("Nothing was changed: editing needs the token.").wait_for()
    context.close()


def test_a_wrong_token_in_the_address_is_said_at_once(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.split("#")[0] + "#token=wrong")
    page.get_by_role("status").get_by_text("This token is wrong. You can read").wait_for()
    annotate(page, TEXT)
    mark_of(page, "Ada").click()
    page.get_by_role("button", name="Not an entity").click()
    page.get_by_role("dialog", name="Editing needs the token").wait_for()
    context.close()


def test_where_reading_needs_a_token_the_page_asks_for_it_and_again_for_editing(browser, serve, folders, tmp_path):
    folder = shutil.copytree(folders["instance"], tmp_path / "model")
    with serve(folder, "--host", "0.0.0.0", "--token", "sesame", "--read-token", "poppy") as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.get_by_role("dialog", name="Reading needs the token").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("status").get_by_text("Load the page again").wait_for()
        page.reload()
        give_token(page, "Reading needs the token", "wrong")
        page.get_by_role("alert").get_by_text("This token is wrong.").wait_for()
        give_token(page, "Reading needs the token", "poppy")
        page.locator("#examples button").first.wait_for()
        annotate(page, TEXT)
        mark_of(page, "Oslo, PLACE").click()
        page.get_by_role("button", name="Not an entity").click()
        page.get_by_role("alert").get_by_text("This token is for reading only.").wait_for()
        page.get_by_role("button", name="Cancel").click()
        mark_of(page, "Ada, PERSON").click()  # the token still reads
        page.get_by_role("heading", name="Ada").wait_for()
        page.get_by_role("button", name="Not an entity").click()
        give_token(page, "Editing needs the token", "sesame")
        page.get_by_role("button", name=CORRECT).click()
        page.get_by_role("status").get_by_text("“Ada” is no entity in the memory now.").wait_for()
        context.close()


def test_map(page):
    page.get_by_role("tab", name="Map").click()
    dots = page.locator("#view-map circle")
    dots.first.wait_for()
    name = dots.nth(3).get_attribute("data-text")
    dots.nth(3).click(force=True)  # points may lie upon each other
    detail = page.locator("#view-map .detail")
    detail.locator("mark").wait_for()
    assert name
    page.get_by_label("Find in the list").fill("New York")
    page.get_by_role("list", name="Entities of the memory").get_by_role("button").first.click()
    assert detail.locator("mark").inner_text() == "New York"
    page.get_by_role("button", name="PLACE", exact=True).click()
    assert page.locator("#view-map circle[data-text='New York']").count() == 0
    detail.get_by_role("button", name="Open in Text").click()
    mark_of(page, "New York, PLACE").first.wait_for()


def test_errors(page):
    page.get_by_role("tab", name="Errors").click()
    page.get_by_role("button", name=re.compile("^wrong label")).click()
    row = page.locator("#view-errors .errors li").filter(has_text="gold PLACE “Ada”")
    row.wait_for()
    assert row.locator(".mark").all_inner_texts() == ["gold PLACE", "predicted PERSON"]
    row.get_by_role("button", name="Open in Text").click()
    mark_of(page, "Ada, PERSON").wait_for()


def test_an_error_is_fixed_in_one_click_and_the_corpus_scored_again(page):
    page.get_by_role("tab", name="Errors").click()
    rows = page.locator("#view-errors .errors li").filter(has_text="gold PLACE “Ada”")
    rows.get_by_role("button", name="Open in Text").click()
    assert mark_of(page, "Ada, gold PLACE").inner_text() == "gold PLACE"
    page.get_by_role("button", name="Fix it: “Ada” is PLACE").click()
    page.locator("#gold").get_by_text("It is as in the corpus now").wait_for()
    page.get_by_role("status").get_by_text("“Ada” is PLACE in the memory now.").wait_for()
    mark_of(page, "Ada, PLACE").wait_for()
    with page.expect_response("**/errors?*"):
        page.get_by_role("tab", name="Errors").click()
    rows.wait_for(state="detached")
    assert "edited" not in page.locator("#view-errors").inner_text()
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Fix it: “Ada” is PLACE").wait_for()
    page.get_by_role("tab", name="Errors").click()
    rows.wait_for()


def test_the_corpus_is_scored_in_several_answers_where_it_is_large(page):
    answers = iter([0.25, 1.0])

    def answer(route) -> None:
        content = route.fetch().json()
        route.fulfill(json=content | {"scored": next(answers)})

    page.route("**/errors?*", answer)
    page.get_by_role("tab", name="Errors").click()
    page.get_by_text("Scoring the corpus again: 25%").wait_for()
    page.locator("#scoring:empty").wait_for(state="attached")


def test_examples_are_sentences_of_the_memory(page, documents):
    buttons = page.locator("#examples button")
    titles = buttons.evaluate_all("buttons => buttons.map(button => button.title)")
    assert len(titles) == 3
    assert set(titles) <= {document.text for document in documents}
    buttons.first.click()
    page.locator("#passage .mark").first.wait_for()
    assert page.get_by_label("Your text").input_value() == titles[0]


def test_scores_stand_beside_the_labels(page):
    annotate(page, TEXT)
    assert re.fullmatch(r"PLACE [01]\.\d\d", mark_of(page, "Oslo, PLACE").inner_text())


def test_the_label_that_an_entity_has_is_not_offered(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    page.get_by_role("heading", name="Oslo").wait_for()
    assert page.locator("#relabel option").all_inner_texts() == ["PERSON"]
    page.get_by_label("Ask about other words").fill("lives")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="lives").wait_for()
    assert page.locator("#relabel option").all_inner_texts() == ["PERSON", "PLACE"]


def test_the_memory_is_searched_opened_and_a_sentence_removed(page):
    page.get_by_role("tab", name="Memory").click()
    rows = page.get_by_role("list", name="Sentences of the memory").get_by_role("listitem")
    rows.first.wait_for()
    assert rows.count() == 10
    page.get_by_role("button", name="Later").click()
    page.get_by_text("11 to 12").wait_for()
    page.get_by_label("Text", exact=True).last.fill("new york")
    page.get_by_label("Label", exact=True).first.select_option("PLACE")
    rows.filter(has_text="New York").first.wait_for()
    page.get_by_text("1 to 2", exact=True).wait_for()
    before = rows.count()
    assert "PLACE" in rows.first.locator(".mark").all_inner_texts()
    rows.first.get_by_role("button", name="Remove").click()
    page.get_by_role("status").get_by_text("is out of the memory").wait_for()
    assert rows.count() == before - 1
    page.get_by_role("tab", name="Edits").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("It is undone").wait_for()
    page.get_by_role("tab", name="Memory").click()
    rows.nth(before - 1).wait_for()
    rows.first.get_by_role("button", name="Open in Text").click()
    mark_of(page, "New York, PLACE").first.wait_for()


def test_an_edit_is_undone_after_a_reload_by_the_keyboard_alone(page):
    annotate(page, TEXT)
    mark_of(page, "Oslo, PLACE").click()
    page.get_by_role("button", name="Relabel").click()
    page.get_by_role("button", name=CORRECT).click()
    mark_of(page, "Oslo, PERSON").wait_for()
    page.reload()
    page.locator("#examples button").first.wait_for()
    annotate(page, TEXT)
    mark_of(page, "Oslo, PERSON").wait_for()
    page.get_by_role("tab", name="Text").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    edits = page.get_by_role("list", name="Edits").get_by_role("listitem")
    edits.first.get_by_text("Oslo").wait_for()
    assert page.get_by_role("button", name="Undo").count() == 1  # the last that stands
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.textContent") != "Undo":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("It is undone").wait_for()
    page.get_by_role("tab", name="Text").click()
    mark_of(page, "Oslo, PLACE").wait_for()


def test_the_edits_say_when_training_is_due(page):
    due = "train again: 25 of 90 sentences are corrections that the model would misread"
    page.route("**/memory/log?*", lambda route: route.fulfill(json=route.fetch().json() | {"training_due": due}))
    page.get_by_role("tab", name="Edits").click()
    page.get_by_text("Train again: 25 of 90 sentences are corrections that the model would misread.").wait_for()


def test_on_a_phone_the_evidence_opens_beside_the_finger(browser, server):
    context = browser.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(server)
    page.locator("#examples button").first.wait_for()
    annotate(page, "\n".join(["Nobody was there."] * 30) + "\n" + TEXT)
    mark = mark_of(page, "Oslo, PLACE")
    mark.tap()
    title = page.get_by_role("heading", name="Oslo")
    title.wait_for()
    shown = page.evaluate(
        """() => {
          const sheet = document.getElementById("panel").getBoundingClientRect();
          const words = document.querySelector("#passage .bar[data-entity='1']").getBoundingClientRect();
          return { top: sheet.top, bottom: sheet.bottom, words: words.bottom, screen: innerHeight };
        }"""
    )
    assert shown["bottom"] == pytest.approx(shown["screen"], abs=1)
    assert 0 < shown["words"] <= shown["top"]
    assert shown["top"] >= 0.4 * shown["screen"]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Close the evidence").tap()
    page.locator("#panel:not(.open)").wait_for()
    mark.tap()
    page.locator("#panel.open").wait_for()
    page.keyboard.press("Escape")
    page.locator("#panel:not(.open)").wait_for()
    assert focused(page).startswith("Oslo, PLACE")
    context.close()


def focused(page) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id")


def test_everything_can_be_reached_with_the_keyboard(page):
    page.get_by_label("Your text").focus()
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    mark_of(page, "Ada").wait_for()
    for _ in range(6):  # the buttons, the examples, then the text: one stop for all its entities
        page.keyboard.press("Tab")
        if focused(page).startswith("Ada, PERSON"):
            break
    page.keyboard.press("ArrowRight")
    assert focused(page).startswith("Oslo, PLACE")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Oslo").wait_for()
    assert focused(page) == "evidence-title"
    page.keyboard.press("Escape")
    assert focused(page).startswith("Oslo")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.get_by_role("heading", name="Ada").wait_for()
    page.get_by_role("tab", name="Text").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#view-map circle").first.wait_for()
    assert page.get_by_role("tab", name="Map").get_attribute("aria-selected") == "true"


def test_markup_is_shown_as_text_and_no_script_runs(page):
    text = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'> <b>Ada</b> lives in Oslo"
    annotate(page, text)
    mark_of(page, "Oslo").click()
    page.get_by_role("heading", name="Oslo").wait_for()
    assert page.locator("#passage .paragraph").first.evaluate("block => block.firstChild.data") == text
    assert page.locator("#passage img, #passage script, #passage b").count() == 0
    assert page.evaluate("window.ran") is None


LANES = {
    "nested": ("the University of Paris", [[(4, 23)], [(18, 23)]]),
    "crossing": ("chronic heart failure drugs", [[(0, 21)], [(8, 27)]]),
    "discontinuous": ("pain in arms and legs", [[(0, 12)], [(0, 7), (17, 21)], [(8, 12)], [(17, 21)]]),
    "two labels": ("Oslo won", [[(0, 4)], [(0, 4)]]),
    "narrow": ("a b c d e f", [[(i, i + 1)] for i in range(0, 11, 2)]),
    "hebrew": ("ירושלים היא עיר", [[(0, 7)], [(8, 15)], [(12, 15)]]),
    "mixed": ("העיר New York City היא גדולה", [[(5, 18)], [(5, 13)], [(0, 8)], [(10, 22)]]),
    "astral": ("🌍🎉 𝔘𝔫𝔦 Oslo 🌍 Rome", [[(7, 11)], [(14, 18)], [(3, 6)]]),
    "lines": ("Ada\n\nBob lives\nin Rome", [[(0, 3)], [(5, 8)], [(18, 22)]]),
    "end of line": (" ".join(f"word{n}" for n in range(40)) + " Oslo", [[(7, 200)], [(270, 274)]]),
}


@pytest.mark.parametrize("name", LANES)
@pytest.mark.parametrize("width", [320, 1100])
def test_lanes_stand_under_their_characters_and_never_on_each_other(page, name, width):
    text, spans = LANES[name]
    page.set_viewport_size({"width": width, "height": 800})
    fake_annotate(page, [entity(text, f"LABEL-{number}", *span) for number, span in enumerate(spans)])
    annotate(page, text)
    page.locator("#passage .mark").first.wait_for()
    assert page.locator("#passage .mark").count() == len(spans)
    assert page.evaluate(OVERLAPPING) == []
    pieces = [[text[a:b] for a, b in span] for span in spans]
    if name != "narrow":  # where one letter stands in several words
        assert page.evaluate(UNDERLINED, pieces) == [True] * len(spans)


def test_five_thousand_words(page):
    words = [f"word{number}" for number in range(5_000)]
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:number]) for number in range(0, 5_000, 5)]
    spans = [(start, start + len(words[5 * at])) for at, start in enumerate(starts)]
    wide = [(start, spans[at + 1][1]) for at, (start, _) in enumerate(spans[:-1]) if at % 3 == 0]
    fake_annotate(page, [entity(text, "PLACE", span) for span in sorted(spans + wide)])
    annotate(page, text)
    page.locator("#passage .mark").first.wait_for()
    assert page.locator("#passage .mark").count() == len(spans) + len(wide)
    assert page.evaluate(OVERLAPPING) == []
    page.set_viewport_size({"width": 500, "height": 800})
    page.wait_for_function("document.querySelector('#passage').clientWidth < 500")
    assert page.evaluate(OVERLAPPING) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_does_not_scroll_sideways_on_a_phone(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 340, "height": 700})
    annotate(page, TEXT + " " + "x" * 200)
    mark_of(page, "Ada").click()
    page.get_by_role("heading", name="Ada").wait_for()
    for tab in ("Text", "Map", "Memory", "Edits", "Errors"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), tab
