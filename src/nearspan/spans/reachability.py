"""What the candidates can reach of a document's entities; the rest is counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nearspan.document import Entity
from nearspan.segment import Coverage, LabelledSpan, Sentence, WordEntity, align
from nearspan.segment.windows import split_windows


@dataclass(frozen=True)
class CandidateRules:
    """Which entities a model can predict: spans of at most `max_width` words, or pieces, with one label each."""

    max_width: int
    multilabel: bool = False  # a span may have several labels
    links_fragments: bool = False  # discontinuous entities too, if each of their fragments can be reached
    tags_words: bool = False  # entities of any width, of which no two share a word: the widest is kept


@dataclass(frozen=True)
class Reachability:
    """For each sentence the entities that can be predicted, over its words; and what was left out why."""

    entities: list[list[WordEntity]]  # those that a candidate can equal
    discontinuous: list[list[LabelledSpan[str]]]  # those whose fragments candidates can equal
    coverage: Coverage


def align_to_candidates(
    sentences: Sequence[Sentence], entities: Sequence[Entity], rules: CandidateRules
) -> Reachability:
    """The entities of one document that candidates can equal.

    >>> from nearspan.formats.markup import parse
    >>> from nearspan.segment import split
    >>> document = parse("[Bank of [England](PLACE)](ORG)")
    >>> reached = align_to_candidates(split(document), document.entities, CandidateRules(max_width=2))
    >>> reached.entities, str(reached.coverage)
    ([[(2, 3, 'PLACE')]], '2 entities in 1 sentence; 1 unreachable (1 wider than 2 words)')
    """
    alignment = align(sentences, entities)
    reasons: dict[str, int] = {}
    contiguous: list[list[WordEntity]] = []
    discontinuous: list[list[LabelledSpan[str]]] = []
    for sentence, golds in zip(sentences, alignment.golds, strict=True):
        contiguous.append([])
        discontinuous.append([])
        spans: set[tuple[int, int]] = set()
        words: set[int] = set()  # of entities that are kept
        for gold in sorted(golds, key=lambda gold: -gold.width) if rules.tags_words else golds:
            span = (gold.first, gold.stop)
            if reason := _out_of_reach(gold, sentence, rules, spans, words):
                reasons[reason] = reasons.get(reason, 0) + 1
            elif gold.discontinuous:
                discontinuous[-1].append(gold)
            else:
                contiguous[-1].append((*span, gold.label))
                spans.add(span)
                words.update(range(*span))
    return Reachability(contiguous, discontinuous, alignment.coverage + Coverage(unreachable=reasons))


def _out_of_reach(
    gold: LabelledSpan[str], sentence: Sentence, rules: CandidateRules, spans: set[tuple[int, int]], words: set[int]
) -> str:
    """Why an entity cannot be predicted beside those whose spans and words are kept already; empty if it can."""
    max_width, span = rules.max_width, (gold.first, gold.stop)
    widest = max(stop - first for first, stop in gold.fragments)
    too_wide = f"wider than {max_width} {sentence.unit}" if widest > max_width else ""
    if gold.discontinuous and not rules.links_fragments:
        return "discontinuous"
    if gold.discontinuous and any(stop == first for (_, stop), (first, _) in pairwise(gold.fragments)):
        return too_wide or "of fragments that touch"
    if gold.discontinuous:
        return too_wide or _cut(gold, sentence, max_width, "of fragments too far apart")
    if span in spans and not rules.multilabel:
        return too_wide or "second label on a span"
    if not rules.tags_words:
        return too_wide
    if not words.isdisjoint(range(*span)):
        return "overlapping a wider entity"
    return _cut(gold, sentence, max_width, "cut by the windows of a very long sentence")


def _cut(gold: LabelledSpan[str], sentence: Sentence, max_width: int, reason: str) -> str:
    """The reason, if the window that owns an entity does not hold all of it."""
    windows = split_windows(sentence, max_width)
    window = next(window for window in windows if window.owns(gold.first - window.start))
    return "" if gold.stop <= window.start + len(window.sentence) else reason
