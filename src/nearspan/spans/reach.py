"""What the candidates can reach of a document's entities; the rest is counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearspan.document import Entity
from nearspan.text import Coverage, Sentence, align

WordEntity = tuple[int, int, str]  # first word, stop, label


@dataclass(frozen=True)
class Reached:
    """For each sentence the entities that a candidate can equal, over its words; and what was left out why."""

    entities: list[list[WordEntity]]
    coverage: Coverage


def reach(
    sentences: Sequence[Sentence],
    entities: Sequence[Entity],
    max_width: int,
    multilabel: bool = False,
    tagged: bool = False,
) -> Reached:
    """The entities of one document that spans of at most `max_width` words, or pieces, can equal.

    Each span has one label, or with `multilabel` any number of them. With `tagged` words are tagged, not spans
    labelled: entities may be of any width, but no two share a word. Of those that do, the widest is kept.

    >>> from nearspan.corpora.markup import parse
    >>> from nearspan.text import split
    >>> document = parse("[Bank of [England](PLACE)](ORG)")
    >>> reached = reach(split(document), document.entities, max_width=2)
    >>> reached.entities, str(reached.coverage)
    ([[(2, 3, 'PLACE')]], '2 entities in 1 sentence; 1 unreachable (1 wider than 2 words)')
    """
    aligned = align(sentences, entities)
    unit = sentences[0].unit if sentences else "words"
    reasons: dict[str, int] = {}
    kept: list[list[WordEntity]] = []
    for golds in aligned.golds:
        found: list[WordEntity] = []
        taken: set[tuple[int, int]] = set()
        words: set[int] = set()  # of entities that are kept
        for gold in sorted(golds, key=lambda gold: -gold.width) if tagged else golds:
            place = (gold.first, gold.stop)
            if gold.discontinuous:
                reason = "discontinuous"
            elif gold.width > max_width and not tagged:
                reason = f"wider than {max_width} {unit}"
            elif place in taken and not multilabel:
                reason = "second label on a span"
            elif tagged and not words.isdisjoint(range(*place)):
                reason = "overlapping a wider entity"
            else:
                found.append((*place, gold.label))
                taken.add(place)
                words.update(range(*place))
                continue
            reasons[reason] = reasons.get(reason, 0) + 1
        kept.append(found)
    return Reached(kept, aligned.coverage + Coverage(unreachable=reasons))
