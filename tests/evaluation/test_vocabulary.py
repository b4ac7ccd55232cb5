"""Slices by vocabulary: IV, OOTV, OOEV and OOBV."""

import pytest

from nearspan.document import Document, Entity, Span
from nearspan.evaluation import Counts, by_vocabulary

TRAINING, VECTORS = {"Ada", "oslo", "Qwx"}, {"ada", "Bob", "oslo"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Ada", "IV"),
        ("OSLO", "IV"),  # in lower case in both
        ("Ada Oslo", "IV"),
        ("Bob", "OOTV"),
        ("Ada Bob", "OOTV"),
        ("Qwx", "OOEV"),
        ("Ada Qwx", "OOEV"),
        ("Zorro", "OOBV"),
        ("Bob Qwx", "OOBV"),  # one is not in training, another has no vector
        ("ADA", "OOTV"),  # training has "Ada", which is neither "ADA" nor "ada"
    ],
)
def test_an_entity_is_in_one_vocabulary(words: str, expected: str):
    gold = [Document(words, (Entity.of(0, len(words), "X"),))]
    slices = by_vocabulary(gold, gold, TRAINING, VECTORS)
    assert {name: scores.total for name, scores in slices.items()} == {expected: Counts(1, 1, 1)}


def test_predictions_go_by_their_own_words_and_only_fragments_count():
    broken = Entity(Span(((0, 3), (10, 14))), "X")  # Ada ... oslo
    gold = [Document("Ada Zorro oslo", (broken,))]
    prediction = [Document("Ada Zorro oslo", (Entity.of(0, 9, "X"),))]
    slices = by_vocabulary(gold, prediction, TRAINING, VECTORS)
    assert {name: scores.total for name, scores in slices.items()} == {"IV": Counts(0, 0, 1), "OOBV": Counts(0, 1, 0)}
