"""`nearspan explain`."""

import json
import re

import pytest
from rich.text import Text

from nearspan.cli.explain import span_at
from nearspan.cli.terminal import terminal
from nearspan.document import Span

TEXT = "Ada lives in Oslo"


@pytest.fixture
def explain(nearspan_command, folders):
    def run(*arguments, model: str = "instance"):
        return nearspan_command("explain", folders[model], *arguments, "--device", "cpu")

    return run


def test_piped_evidence_marks_the_words_of_a_training_span(explain):
    rows = [line for line in explain(TEXT, "--span", "Oslo").out.splitlines() if " #" in line]
    assert rows
    assert all(line.count("«") == line.count("»") == 1 for line in rows)


def test_the_marks_of_piped_words_push_nothing_off_a_full_line(capsys):
    console = terminal.__wrapped__()
    console.width = len("Ada lives in Oslo.")
    console.print(Text.assemble(("Ada", "underline"), " lives in Oslo."))
    assert capsys.readouterr().out == "«Ada» lives in Oslo.\n"


def test_the_terminal_view(explain):
    ran = explain(TEXT, "-k", "2")
    assert ran.code == 0
    for part in ("«Ada»⟨PERSON⟩ lives in «Oslo»⟨PLACE⟩", "exact", "add up", "0."):
        assert part in ran.out


def test_json_adds_up(explain):
    content = json.loads(explain(TEXT, "--json", "-k", "3").out)
    assert content["text"] == TEXT
    assert [explained["text"] for explained in content["evidence"]] == ["Ada", "Oslo"]
    for entity in content["evidence"]:
        assert sum(entity["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        for label, group in entity["neighbours"].items():
            assert len(group) <= 3
            listed = sum(neighbour["weight"] for neighbour in group)
            assert listed + entity["unlisted"][label] == pytest.approx(entity["probabilities"][label], abs=1e-5)


def test_k_is_how_many_are_listed(explain):
    for count in ("1", "4"):
        content = json.loads(explain(TEXT, "--json", "-k", count).out)
        assert max(len(group) for entity in content["evidence"] for group in entity["neighbours"].values()) == int(
            count
        )
    assert explain(TEXT, "-k", "0").code == 2


def test_any_span_can_be_asked_about(explain):
    content = json.loads(explain(TEXT, "--span", "lives in", "--json").out)
    [entity] = content["evidence"]
    assert (entity["text"], entity["label"], entity["fragments"]) == ("lives in", None, [[4, 12]])
    assert "no entity" in explain(TEXT, "--span", "lives in").out


def test_the_span_is_found_where_it_is_whole_words(explain):
    """`a` stands inside Ada before it stands alone."""
    content = json.loads(explain("Ada saw a moon", "--span", "a", "--json").out)
    assert content["evidence"][0]["fragments"] == [[8, 9]]


def test_further_fragments_are_found_where_they_are_whole_words():
    """`in` stands inside again before it stands alone; without blanks between words any place will do."""
    assert span_at("pain again in legs", 0, ["pain", "in"]) == Span(((0, 4), (11, 13)))
    assert span_at("pain again", 0, ["pain", "in"]) == Span(((0, 4), (8, 10)))
    assert span_at("北京很大很冷", 0, ["北京", "很"]) == Span(((0, 2), (2, 3)))
    assert span_at("pain again", 0, ["pain", "legs"]) is None


@pytest.mark.parametrize("words", [" ... ", "Ada ... ", "  ... Oslo", " "])
def test_a_span_is_made_of_words(explain, words: str):
    ran = explain(TEXT, "--span", words)
    assert (ran.code, "lacks words" in ran.err) == (2, True)


def test_a_classifier_says_how_weak_its_claim_is(explain):
    content = json.loads(explain(TEXT, "--json", model="classifier").out)
    assert {entity["strength"] for entity in content["evidence"]} == {"nearest"}
    assert "not the mechanism" in explain(TEXT, model="classifier").out


def test_a_text_without_entities(explain):
    for text in ("", " ", "The rain fell on 21 March"):
        ran = explain(text)
        assert ran.code == 0
        assert "no entity found" in ran.out
        assert json.loads(explain(text, "--json").out)["evidence"] == []


def test_markup_in_the_text_is_only_text(explain):
    ran = explain("[bold]Ada[/bold] lives in [/oops] Oslo :smile:")
    assert ran.code == 0
    assert "[/oops]" in re.sub("⟨.*?⟩", "", ran.out)  # the labels' names, wherever the model sees one


def test_unicode_text(explain):
    content = json.loads(explain("عاشت Ada في Oslo 👩‍🚀", "--json").out)
    for entity in content["evidence"]:
        [[start, end]] = entity["fragments"]
        assert content["text"][start:end] == entity["text"]


def test_a_text_that_is_not_unicode_is_a_clear_error(explain):
    ran = explain("Ada \udcff Oslo", "--json")
    assert ran.code == 2
    assert "not UTF-8" in ran.err


def test_the_whole_memory_can_be_searched(explain):
    assert explain(TEXT, "--search", "whole", "--json").code == 0


def test_the_page_is_written(explain, tmp_path):
    ran = explain("<b>Ada</b> lives in Oslo", "--html", tmp_path / "why.html")
    assert (ran.code, ran.out) == (0, f"{tmp_path / 'why.html'}\n")
    page = (tmp_path / "why.html").read_text()
    assert "&lt;b&gt;" in page
    assert "PLACE" in page


def test_the_memory_may_be_interpolated_with_a_classifier(explain):
    content = json.loads(explain(TEXT, "--interpolate", "0.4", "--json", model="classifier").out)
    assert {entity["weight"] for entity in content["evidence"]} == {0.4}
    assert explain(TEXT, "--interpolate", "1.5", model="classifier").code == 2
    assert "predicts from its memory already" in explain(TEXT, "--interpolate", "0.4").err
