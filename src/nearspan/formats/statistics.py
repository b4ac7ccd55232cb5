"""What is in a corpus: counts, nesting, widths, and everything that is wrong."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NotRequired, TypedDict

from nearspan.document import Document, Entity, Span
from nearspan.formats.column_piece import Piece
from nearspan.formats.corpus import DUPLICATE, NOT_GOLD, Place, Problem, ProblemRecord, excerpt
from nearspan.formats.document_stream import Block, Placed
from nearspan.formats.files import Documents, as_stream
from nearspan.formats.synonyms import SynonymCounter, SynonymCoverage, Synonyms
from nearspan.segment import split_words


class Statistics(TypedDict):
    """The counts of a corpus.

    `entities`, `types`, `widths` and `discontinuous` count an annotation that a file gives twice both
    times; the document holds it once. `sentences` counts the -DOCSTART- lines of column files as sentences,
    as the statistics of the CoNLL-2003 shared task do (14,987 for its training file: 14,041 sentences and
    946 -DOCSTART- lines); `tokens` does not count them. `nested`: entities that lie in another one or have
    the same span as another. `overlapping`: entities that share characters with another while neither lies
    in the other. `widths`: entities by their number of words. `lost`: annotations that could not be read, and are in no
    document. `synonyms` is there where it was asked for.
    """

    format: str
    documents: int
    docstarts: int
    sentences: int
    tokens: int
    entities: int
    types: dict[str, int]
    nested: int
    overlapping: int
    discontinuous: int
    widths: dict[int, int]
    lost: int
    problems: list[ProblemRecord]
    synonyms: NotRequired[SynonymCoverage]


def statistics(source: Documents, synonyms: Synonyms | None = None) -> Statistics:
    """Count a corpus and, if some are given, its entities that have synonyms.

    `source` is a path, several paths, a corpus, or documents; those of files are counted as they are read.

    >>> from nearspan.formats.markup import parse
    >>> counts = statistics([parse("[University of [Oslo](PLACE)](ORG) opened")])
    >>> counts["tokens"], counts["nested"], counts["widths"]
    (4, 1, {1: 1, 3: 1})
    """
    documents = as_stream(source)
    misaligned: list[Problem] = []
    known = None if synonyms is None else SynonymCounter(synonyms)
    types: Counter[str] = Counter()
    widths: Counter[int] = Counter()
    counted = sentences = tokens = nested = overlapping = discontinuous = 0

    def count_block(block: Block) -> Iterator[Placed]:
        from nearspan.formats import plain_counts  # needs numpy, which short files do not wait for

        nonlocal counted, sentences, tokens
        counts = plain_counts.count_block(block)
        counted, sentences, tokens = counted + counts.documents, sentences + counts.sentences, tokens + counts.tokens
        types.update(counts.labels)
        widths.update(counts.widths)
        return counts.rest

    if known is None:
        documents.count_blocks(count_block)
    for document in documents:
        contents = document.contents
        if isinstance(contents, Piece) and known is None:  # counted when it was read; nothing can be wrong
            sentences += contents.sentence_count
            tokens += contents.word_count
            types.update(contents.labels)
            widths.update(contents.widths)
            continue
        parts = split_words(document)
        places = [word for part in parts for word in part]
        sentences += len(parts)
        tokens += len(places)
        starts, ends = [start for start, _ in places], [end for _, end in places]
        place = documents.place
        for entity in (*document.entities, *place.duplicates):
            types[entity.label] += 1
            discontinuous += entity.span.discontinuous
            width, aligned = _width(entity, starts, ends)
            widths[width] += 1
            if not aligned:
                misaligned.append(_misalignment(entity, document, place))
            if known is not None:
                known.add(entity)
        inside, crossing = relations(entity.span for entity in document.entities)
        nested += inside
        overlapping += crossing
    problems = [*documents.problems, *misaligned]
    counts = Statistics(
        format=documents.format,
        documents=documents.count + counted,
        docstarts=documents.docstarts,
        sentences=sentences + documents.docstarts,
        tokens=tokens,
        entities=sum(types.values()),
        types=dict(types.most_common()),
        nested=nested,
        overlapping=overlapping,
        discontinuous=discontinuous,
        widths=dict(sorted(widths.items())),
        lost=sum(problem.lost for problem in problems if problem.kind not in (DUPLICATE, NOT_GOLD)),
        problems=[problem.to_dict() for problem in problems],
    )
    if known is not None:
        counts["synonyms"] = known.counts()
    return counts


def relations(spans: Iterable[Span]) -> tuple[int, int]:
    """How many spans lie in another one (or equal it), and how many cross another one.

    Contiguous spans take n log n steps; a discontinuous one meets all that are open where it begins.

    >>> relations([Span.of(0, 9), Span.of(0, 4), Span.of(5, 12)])
    (1, 2)
    """
    spans = list(spans)
    if all(before.end <= after.start for before, after in pairwise(spans)):
        return 0, 0
    counts = Counter(spans)
    ordered = sorted(counts, key=lambda span: (span.start, -span.end))
    nested = {span for span, count in counts.items() if count > 1}
    crossing: set[Span] = set()
    _compare_contiguous([span for span in ordered if not span.discontinuous], nested, crossing)
    if any(span.discontinuous for span in ordered):
        _compare_discontinuous(ordered, nested, crossing)
    return sum(counts[span] for span in nested), sum(counts[span] for span in crossing)


def _width(entity: Entity, starts: list[int], ends: list[int]) -> tuple[int, bool]:
    """The number of words an entity touches, and whether it begins and ends where words do."""
    width, aligned = 0, True
    for start, end in entity.span.fragments:
        first, stop = bisect_right(ends, start), bisect_left(starts, end)
        width += stop - first
        aligned = aligned and first < stop and starts[first] == start and ends[stop - 1] == end
    return max(width, 0), aligned


def _misalignment(entity: Entity, document: Document, place: Place) -> Problem:
    text = excerpt(entity.span.text(document.text))
    message = f"{entity.label} {entity.span} {text} does not begin and end where words do"
    if place.path != document.id:
        message += f" (document {excerpt(document.id)})"
    return Problem("misaligned", message, place.path, place.entities.get(entity, place.line))


def _compare_contiguous(ordered: list[Span], nested: set[Span], crossing: set[Span]) -> None:
    """Sweep over spans by start, the longer first, and back by end: a span crosses what is open and ends inside it."""
    ends: list[int] = []  # of the spans that are open
    for span in ordered:
        del ends[: bisect_right(ends, span.start)]
        if ends and ends[-1] >= span.end:
            nested.add(span)
        if ends and ends[0] < span.end:
            crossing.add(span)
        insort(ends, span.end)
    starts: list[int] = []
    for span in sorted(ordered, key=lambda span: (-span.end, span.start)):
        del starts[bisect_left(starts, span.end) :]
        if starts and starts[-1] > span.start:
            crossing.add(span)
        insort(starts, span.start)


def _compare_discontinuous(ordered: list[Span], nested: set[Span], crossing: set[Span]) -> None:
    """Compare the pairs of which one is discontinuous."""
    open_spans: list[Span] = []
    discontinuous: list[Span] = []
    for span in ordered:
        open_spans = [other for other in open_spans if other.end > span.start]
        discontinuous = [other for other in discontinuous if other.end > span.start]
        for other in open_spans if span.discontinuous else discontinuous:
            if other.covers(span):
                nested.add(span)
            elif span.covers(other):
                nested.add(other)
            elif span.overlaps(other):
                crossing.update((span, other))
        open_spans.append(span)
        if span.discontinuous:
            discontinuous.append(span)
