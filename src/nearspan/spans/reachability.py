"""What the candidates can reach of a document's entities; the rest is counted, never dropped in silence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nearspan.document import Entity
from nearspan.segment import Coverage, Fragments, LabelledSpan, Sentence, align
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

    entities: list[
        list[LabelledSpan[str]]
    ]  # those that candidates can equal, or their fragments; contiguous ones first
    coverage: Coverage


def align_to_candidates(
    sentences: Sequence[Sentence], entities: Sequence[Entity], rules: CandidateRules
) -> Reachability:
    """The entities of one document that candidates can equal.

    >>> from nearspan.formats.markup import parse
    >>> from nearspan.segment import split
    >>> document = parse("[Bank of [England](PLACE)](ORG)")
    >>> reached = align_to_candidates(split(document), document.entities, CandidateRules(max_width=2))
    >>> [(gold.first, gold.stop, gold.label) for gold in reached.entities[0]], str(reached.coverage)
    ([(2, 3, 'PLACE')], '2 entities in 1 sentence; 1 unreachable (1 wider than 2 words)')
    """
    alignment = align(sentences, entities)
    reasons = dict(alignment.coverage.unreachable)
    reached: list[list[LabelledSpan[str]]] = []
    for sentence, golds in zip(sentences, alignment.golds, strict=True):
        reached.append([])
        spans: set[Fragments] = set()
        words: set[int] = set()  # of entities that are kept
        for gold in sorted(golds, key=lambda gold: -gold.width) if rules.tags_words else golds:
            linked, reason = gold.discontinuous, ""
            if linked and not rules.links_fragments:
                reason = "discontinuous"
            elif max(b - a for a, b in gold.fragments) > rules.max_width and (linked or not rules.tags_words):
                reason = f"wider than {rules.max_width} {sentence.unit}"
            elif linked and any(stop == first for (_, stop), (first, _) in pairwise(gold.fragments)):
                reason = "of fragments that touch"
            elif linked and _is_cut(gold, sentence, rules.max_width):
                reason = "of fragments too far apart"
            elif not linked and gold.fragments in spans and not rules.multilabel:
                reason = "second label on a span"
            elif not linked and rules.tags_words and not words.isdisjoint(range(gold.first, gold.stop)):
                reason = "overlapping a wider entity"
            elif not linked and rules.tags_words and _is_cut(gold, sentence, rules.max_width):
                reason = "cut by the windows of a very long sentence"
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
                continue
            reached[-1].append(gold)
            if not linked:
                spans.add(gold.fragments)
                words.update(range(*gold.fragments[0]))
        reached[-1].sort(key=lambda gold: gold.discontinuous)
    return Reachability(reached, replace(alignment.coverage, unreachable=reasons))


def _is_cut(gold: LabelledSpan[str], sentence: Sentence, max_width: int) -> bool:
    """Whether the window that owns an entity does not hold all of it."""
    windows = split_windows(sentence, max_width)
    window = next(window for window in windows if window.owns(gold.first - window.start))
    return gold.stop > window.start + len(window.sentence)
