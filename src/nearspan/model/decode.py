"""From label probabilities to entities, and which of them may stand together."""

from collections.abc import Iterable
from typing import Literal

from nearspan.document import Entity, Fragment, Span
from nearspan.segment import Fragments, LabelledSpan

Overlap = Literal["flat", "nested", "any"]


def decode(
    spans: Iterable[LabelledSpan[int]], overlap: Overlap, linked: Overlap = "any", taken: Iterable[Fragments] = ()
) -> list[LabelledSpan[int]]:
    """Keep the best spans that may stand together, and beside what is `taken` already, the most probable first.

    `flat`: no two share a word. `nested`: all words of the one may be words of the other, none may cross. `any`: all
    stay. `overlap` is for contiguous spans, `linked` for two of which one is discontinuous; such a span holds the
    words of its fragments, not those between them. A correction of another sentence makes a span an entity, but not
    one that stands before others: there its probability without corrections counts.
    Several labels on one span may always stand together; only heads that give several make such spans.

    >>> spans = [LabelledSpan.of(0, 2, 1, 0.9), LabelledSpan.of(1, 3, 1, 0.8), LabelledSpan(((0, 1), (3, 4)), 2, 0.7)]
    >>> [span.fragments for span in decode(spans, "flat")]
    [((0, 2),), ((0, 1), (3, 4))]
    """
    kept: list[LabelledSpan[int]] = []
    at_word: dict[int, list[Fragments]] = {}  # what stands, by the words it holds
    for fragments in taken:
        for word in (word for first, stop in fragments for word in range(first, stop)):
            at_word.setdefault(word, []).append(fragments)
    anything_goes = (overlap, linked) == ("any", "any")
    for span in sorted(spans, key=_rank):
        words = [word for first, stop in span.fragments for word in range(first, stop)]
        rivals = (rival for word in words for rival in at_word.get(word, ()))
        if not anything_goes and any(_clash(span.fragments, rival, overlap, linked) for rival in rivals):
            continue
        kept.append(span)
        for word in words:
            at_word.setdefault(word, []).append(span.fragments)
    return kept


def _rank(span: LabelledSpan[int]) -> tuple[float, Fragments, int]:
    """The place of a span among those it may clash with."""
    return -(span.score if span.unaided is None else span.unaided), span.fragments, span.label


def replace_entity(
    entities: Iterable[Entity], span: Span, label: str, overlap: Overlap, linked: Overlap = "any"
) -> tuple[Entity, ...]:
    """A text's entities with another label, or none where it is `""`, for a span; what cannot stand beside it goes.

    >>> replace_entity([Entity.of(0, 8, "PLACE"), Entity.of(9, 12, "PERSON")], Span.of(4, 8), "PERSON", "flat")
    (Entity(PERSON 4-8), Entity(PERSON 9-12))
    """
    rest = [entity for entity in entities if entity.span != span]
    if label:
        spans = [LabelledSpan(entity.span.fragments, number, 1.0) for number, entity in enumerate(rest)]
        kept = decode(spans, overlap, linked, taken=[span.fragments])
        rest = [*(rest[beside.label] for beside in kept), Entity(span, label)]
    return tuple(sorted(rest))


def least_overlap(sentences: Iterable[Iterable[Fragments]]) -> Overlap:
    """The least level that allows all contiguous ones of these spans, sentence by sentence; equal ones are one.

    >>> least_overlap([[((0, 2),), ((1, 2),)], [((4, 5),)]])
    'nested'
    """
    return _least(_contiguous([span[0] for span in set(spans) if len(span) == 1]) for spans in sentences)


def least_linked_overlap(sentences: Iterable[Iterable[Fragments]]) -> Overlap:
    """The least level that allows all pairs of these spans of which one is discontinuous, sentence by sentence.

    >>> least_linked_overlap([[((0, 2),), ((0, 1), (4, 5))]])
    'any'
    """
    return _least(
        _together(left, right)
        for spans in sentences
        for left in set(spans)
        if len(left) > 1
        for right in set(spans)
        if left != right
    )


def _least(levels: Iterable[Overlap]) -> Overlap:
    """The least level that allows what each of these allows."""
    allowed = set(levels)
    return "any" if "any" in allowed else "nested" if "nested" in allowed else "flat"


def _contiguous(spans: list[Fragment]) -> Overlap:
    """The least level for contiguous spans of one sentence."""
    level: Overlap = "flat"
    stack: list[Fragment] = []
    for first, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
        while stack and stack[-1][1] <= first:
            stack.pop()
        if stack:
            if stop > stack[-1][1]:
                return "any"
            level = "nested"
        stack.append((first, stop))
    return level


def _together(left: Fragments, right: Fragments) -> Overlap:
    """The least level at which two different spans may stand together."""
    if not any(a < stop and first < b for a, b in left for first, stop in right):
        return "flat"
    return "nested" if _inside(left, right) or _inside(right, left) else "any"


def _clash(left: Fragments, right: Fragments, overlap: Overlap, linked: Overlap) -> bool:
    """Whether two spans that share a word may not stand together."""
    level = overlap if len(left) == len(right) == 1 else linked
    if level == "flat":
        return left != right
    return level == "nested" and not (_inside(left, right) or _inside(right, left))


def _inside(left: Fragments, right: Fragments) -> bool:
    """Whether every fragment of `left` lies in a fragment of `right`."""
    return all(any(a <= first and stop <= b for a, b in right) for first, stop in left)
