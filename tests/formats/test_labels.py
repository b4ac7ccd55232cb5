"""A label with a character at its end that nobody sees is the label that it looks like."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearspan.formats import read
from nearspan.formats.corpus import clean_label
from nearspan.formats.markup import render

Put = Callable[..., Path]

UNSEEN = "\u00a0\u200b\u200d\ufeff\u00ad\u200f\u3000\u2028\u2800\x00\x1f\x7f"
# Two entities, of which the first has the label.
FORMATS: dict[str, Callable[[str], str]] = {
    "conll": "Ada\tB-{}\nLovelace\tI-PER\nin\tO\nOslo\tB-LOC\n".format,
    "jsonl": '{{"text": "Ada Lovelace in Oslo", "entities": [[0, 12, "{}"], [16, 20, "LOC"]]}}\n'.format,
    "pubtator": "1|t|Ada Lovelace in Oslo\n1\t0\t12\tAda Lovelace\t{}\n1\t16\t20\tOslo\tLOC\n".format,
    "indexed": "Ada Lovelace in Oslo\n0,1 {}|3,3 LOC\n\n".format,
    "brat": "T1\t{} 0 12\tAda Lovelace\nT2\tLOC 16 20\tOslo\n".format,
}


@pytest.mark.parametrize("label", ["{}PER", "PER{}", "{}PER{}"])
@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("name", FORMATS)
def test_an_unseen_character_makes_no_new_label_and_is_listed(put: Put, name: str, unseen: str, label: str):
    put("a.txt", "Ada Lovelace in Oslo")
    label = label.replace("{}", f"\\u{ord(unseen):04x}" if name == "jsonl" else unseen)
    path = put("a.ann" if name == "brat" else "data", FORMATS[name](label))
    corpus = read(path, name)
    assert [render(document) for document in corpus] == ["[Ada Lovelace](PER) in [Oslo](LOC)"]
    assert any("PER" in problem.message for problem in corpus.problems)


@pytest.mark.parametrize("label", ["PER", "DATE TIME", "نام\u200cخانوادگی", "a\u0301", "❤\ufe0f", "-"])
def test_a_label_that_begins_and_ends_with_what_is_seen_is_left_alone(label: str):
    assert clean_label(label) == label


@pytest.mark.parametrize("name", FORMATS)
def test_a_label_of_nothing_to_be_seen_is_no_label(put: Put, name: str):
    put("a.txt", "Ada Lovelace in Oslo")
    path = put("a.ann" if name == "brat" else "data", FORMATS[name]("\u200b"))
    corpus = read(path, name)
    assert "LOC" in {entity.label for entity in corpus[0].entities} <= {"PER", "LOC"}
    assert corpus.problems
