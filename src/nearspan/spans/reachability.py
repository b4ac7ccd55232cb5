"""What the candidates can reach of a document's entities; the rest is counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nearspan.document import Entity
from nearspan.segment import Coverage, Gold, Sentence, align
from nearspan.segment.sentence_windows import split_windows

WordEntity = tuple[int, int, str]  # first word, stop, label


@dataclass(frozen=True)
class Reachability:
    """For each sentence the entities that can be predicted, over its words; and what was left out why."""

    entities: list[list[WordEntity]]  # those that a candidate can equal
    discontinuous: list[list[Gold]]  # those whose fragments candidates can equal
    coverage: Coverage


def align_to_candidates(
    sentences: Sequence[Sentence],
    entities: Sequence[Entity],
    max_width: int,
    multilabel: bool = False,
    joining: bool = False,
    tagged: bool = False,
) -> Reachability:
    """The entities of one document that spans of at most `max_width` words, or pieces, can equal.

    Each span has one label, or with `multilabel` any number of them. With `joining` discontinuous entities are
    reached too, if each of their fragments can be. With `tagged` words are tagged, not spans labelled: entities may be
    of any width, but no two share a word. Of those that do, the widest is kept.

    >>> from nearspan.formats.markup import parse
    >>> from nearspan.segment import split
    >>> document = parse("[Bank of [England](PLACE)](ORG)")
    >>> reached = align_to_candidates(split(document), document.entities, max_width=2)
    >>> reached.entities, str(reached.coverage)
    ([[(2, 3, 'PLACE')]], '2 entities in 1 sentence; 1 unreachable (1 wider than 2 words)')
    """
    aligned = align(sentences, entities)
    reasons: dict[str, int] = {}
    kept: list[list[WordEntity]] = []
    joined: list[list[Gold]] = []
    for sentence, golds in zip(sentences, aligned.golds, strict=True):
        found: list[WordEntity] = []
        broken: list[Gold] = []
        taken: set[tuple[int, int]] = set()
        words: set[int] = set()  # of entities that are kept
        for gold in sorted(golds, key=lambda gold: -gold.width) if tagged else golds:
            place = (gold.first, gold.stop)
            reason = _too_wide(gold, sentence, max_width)
            if gold.discontinuous:
                reason = reason or _apart(gold, sentence, max_width) if joining else "discontinuous"
            elif place in taken and not multilabel:
                reason = reason or "second label on a span"
            elif tagged:
                reason = "" if words.isdisjoint(range(*place)) else "overlapping a wider entity"
                reason = reason or _cut(gold, sentence, max_width, "cut by the windows of a very long sentence")
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
            elif gold.discontinuous:
                broken.append(gold)
            else:
                found.append((*place, gold.label))
                taken.add(place)
                words.update(range(*place))
        kept.append(found)
        joined.append(broken)
    return Reachability(kept, joined, aligned.coverage + Coverage(unreachable=reasons))


def _too_wide(gold: Gold, sentence: Sentence, max_width: int) -> str:
    widest = max(stop - first for first, stop in gold.fragments)
    return f"wider than {max_width} {sentence.unit}" if widest > max_width else ""


def _apart(gold: Gold, sentence: Sentence, max_width: int) -> str:
    """Why the fragments of an entity cannot be joined, if they cannot."""
    if any(stop == first for (_, stop), (first, _) in pairwise(gold.fragments)):
        return "of fragments that touch"
    return _cut(gold, sentence, max_width, "of fragments too far apart")


def _cut(gold: Gold, sentence: Sentence, max_width: int, reason: str) -> str:
    """The reason, if the window that answers for an entity does not hold all of it."""
    part = next(part for part in split_windows(sentence, max_width) if part.owns(gold.first - part.start))
    return "" if gold.stop <= part.start + len(part.sentence) else reason
