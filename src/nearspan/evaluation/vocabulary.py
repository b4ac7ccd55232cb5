"""Scores by whether the words of an entity are known: from training, from the word vectors, from both or neither."""

from __future__ import annotations

from collections.abc import Container, Iterable

from nearspan.document import Document, Entity
from nearspan.evaluation.scores import Scores
from nearspan.evaluation.slices import Slicer, entity_words, score_by

VOCABULARIES = ("IV", "OOTV", "OOEV", "OOBV")


def by_vocabulary(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    training: Container[str],
    vectors: Container[str],
    *,
    characters: bool = False,
) -> dict[str, Scores]:
    """Scores by vocabulary (Ma & Hovy, 2016), given the words of the training data and those that have a vector.

    - "IV": all words of the entity are in both;
    - "OOTV": a word is not in the training data, and all have vectors;
    - "OOEV": all words are in the training data, and a word has no vector;
    - "OOBV": a word is not in the training data, and a word (maybe another) has no vector.

    A word is in a vocabulary if it is there as it is written, or in lower case.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> slices = by_vocabulary(gold, gold, training={"Ann", "in"}, vectors={"ann", "oslo"})
    >>> {name: scores.total.gold for name, scores in slices.items()}
    {'IV': 1, 'OOTV': 1}
    """

    def slicer(document: Document) -> Slicer:
        words_of = entity_words(document, characters)

        def vocabulary(entity: Entity) -> str:
            words = words_of(entity)
            in_training, have_vectors = (all(_knows(known, word) for word in words) for known in (training, vectors))
            return VOCABULARIES[(not in_training) + 2 * (not have_vectors)]

        return vocabulary

    scores = score_by(gold, predicted, slicer)
    return {name: scores[name] for name in VOCABULARIES if name in scores}


def _knows(vocabulary: Container[str], word: str) -> bool:
    return word in vocabulary or word.lower() in vocabulary
