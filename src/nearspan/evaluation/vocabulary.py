"""Scores by whether the words of an entity are known: from training, from the word vectors, from both or neither."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable

from nearspan.document import Document, Entity
from nearspan.evaluation.scores import Scores
from nearspan.evaluation.slices import Slicer, sliced
from nearspan.segment.words import words

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
    - "OOTV": some word is not in the training data, and all have vectors;
    - "OOEV": all words are in the training data, and some has no vector;
    - "OOBV": some word is not in the training data, and some (maybe another one) has no vector.

    A word is in a vocabulary if it is there as it is written, or in lower case.

    >>> gold = [Document("Ann in Oslo", (Entity.of(0, 3, "PER"), Entity.of(7, 11, "LOC")))]
    >>> found = by_vocabulary(gold, gold, training={"Ann", "in"}, vectors={"ann", "oslo"})
    >>> {name: scores.total.gold for name, scores in found.items()}
    {'IV': 1, 'OOTV': 1}
    """

    def slicer(document: Document) -> Slicer:
        found = document.words if document.words is not None else words(document.text, characters)
        starts, ends = [start for start, _ in found], [end for _, end in found]
        texts = [document.text[start:end] for start, end in found]

        def vocabulary(entity: Entity) -> str:
            held = [texts[bisect_right(ends, a) : bisect_left(starts, b)] for a, b in entity.span.fragments]
            own = [word for some in held for word in some]
            seen, known = (all(_knows(each, word) for word in own) for each in (training, vectors))
            return VOCABULARIES[(not seen) + 2 * (not known)]

        return vocabulary

    scores = sliced(gold, predicted, slicer)
    return {name: scores[name] for name in VOCABULARIES if name in scores}


def _knows(vocabulary: Container[str], word: str) -> bool:
    return word in vocabulary or word.lower() in vocabulary
