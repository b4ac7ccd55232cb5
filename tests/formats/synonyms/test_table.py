import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.formats.corpus import Problem
from nearspan.formats.synonyms import Synonyms, normal_form, table

HEART = ("heart attack", "myocardial infarction", "MI")


def test_the_other_names_in_order():
    assert Synonyms([HEART]).of("Myocardial Infarction") == ("heart attack", "MI")


def test_names_of_all_concepts_each_once_and_not_of_their_neighbours():
    synonyms = Synonyms([("cold", "chilly", "Icy"), ("cold", "common cold", "icy"), ("icy", "slippery")])
    assert synonyms.of("cold") == ("chilly", "Icy", "common cold")
    assert synonyms.of("slippery") == ("icy",)


def test_a_spelling_of_the_text_itself_is_no_other_name():
    synonyms = Synonyms([("Non-Hodgkin lymphoma", "non hodgkin lymphoma", "NHL")])
    assert synonyms.of("non-hodgkin LYMPHOMA") == ("NHL",)
    assert list(synonyms) == [("Non-Hodgkin lymphoma", "NHL")]


def test_known_or_not():
    synonyms = Synonyms([HEART, ("lonely",)])
    assert "mi" in synonyms
    assert "lonely" in synonyms
    assert synonyms.of("lonely") == ()
    assert "flu" not in synonyms
    assert "" not in synonyms
    assert 7 not in synonyms


def test_the_numbers():
    synonyms = Synonyms([HEART, ("MI", "Michigan"), ("", " ")])
    assert (synonyms.concepts, synonyms.names) == (2, 4)
    assert (Synonyms().concepts, Synonyms().names, Synonyms().of("a")) == (0, 0, ())


def test_blanks_inside_a_name_are_one():
    assert Synonyms([("heart\t attack", "m\ni")]).of("heart attack") == ("m i",)


def test_concepts_with_one_key_are_united():
    pairs = [(1, ["a", "b"]), (2, ["x"]), (0, ["o"]), (1, ["B", "c"]), (0, ["p"]), (2, ["y"])]
    synonyms = Synonyms.from_concepts(pairs, [])
    assert list(synonyms) == [("a", "b", "c"), ("x", "y"), ("o",), ("p",)]
    assert synonyms.of("c") == ("a", "b")
    assert synonyms.of("y") == ("x",)
    assert synonyms.of("p") == ()


def test_merging_keeps_concepts_and_problems_in_order():
    first, two = Problem("malformed", "m", "a", 1), Problem("malformed", "n", "b", 2)
    state = Synonyms([("MI", "Michigan")], problems=[two], format="obo")
    both = Synonyms([HEART], problems=[first], format="tsv") + state
    assert both.of("mi") == ("heart attack", "myocardial infarction", "Michigan")
    assert both.problems == (first, two)
    assert both.format == "tsv, obo"


def test_names_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table, "_hash", lambda text: 7)
    synonyms = Synonyms([("a", "b"), ("x", "y")])
    assert (synonyms.of("a"), synonyms.of("y"), synonyms.of("z")) == (("b",), ("x",), ())


def test_it_can_go_to_another_process():
    assert pickle.loads(pickle.dumps(Synonyms([HEART]))).of("mi") == HEART[:2]


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), max_size=6), st.text(max_size=3))
def test_as_a_loop_over_all_names_finds_them(concepts: list[list[str]], text: str):
    wanted = normal_form(text)
    expected: dict[str, None] = {}
    for names in concepts:
        keys = [normal_form(name) for name in names]
        if wanted and wanted in keys:
            expected |= dict.fromkeys(key for key in keys if key not in ("", wanted))
    synonyms = Synonyms(concepts)
    assert [normal_form(name) for name in synonyms.of(text)] == list(expected)
    assert (text in synonyms) == any(wanted and wanted == normal_form(name) for names in concepts for name in names)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abcdef"), min_size=1)), max_size=8))
def test_merging_parts_is_reading_all_at_once(pairs: list[tuple[int, list[str]]]):
    parts = [Synonyms.from_concepts([pair], []) for pair in pairs]
    assert list(Synonyms.merge(parts)) == list(Synonyms.from_concepts(pairs, []))
