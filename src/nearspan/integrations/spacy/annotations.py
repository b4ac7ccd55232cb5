"""From spaCy's documents to ours and back: its tokens are the words, so every entity begins and ends with a token."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy
from spacy.tokens import Doc, Span, SpanGroup

from nearspan.document import Document, Entity, Fragment

FRAGMENTS = "_fragments"  # ends the name of the span group of discontinuous entities


def to_document(doc: Doc) -> Document:
    """The text with spaCy's tokens as words, but for those of whitespace, and its sentences where it has any."""
    words = tuple((start, end) for _, start, end in word_tokens(doc))
    sentences = None
    if doc.has_annotation("SENT_START"):
        sentences = tuple((sentence.start_char, sentence.end_char) for sentence in doc.sents)
    return Document(doc.text, words=words, sentences=sentences)


def word_tokens(doc: Doc) -> list[tuple[int, int, int]]:
    """The number, the first character and the end of each token that is a word."""
    starts, lengths, spaces = doc.to_array(["IDX", "LENGTH", "IS_SPACE"]).T
    [numbers] = ((lengths > 0) & (spaces == 0)).nonzero()
    starts, lengths = starts[numbers], lengths[numbers]
    return list(zip(numbers.tolist(), starts.tolist(), (starts + lengths).tolist(), strict=True))


def set_entities(doc: Doc, entities: Iterable[Entity], key: str, set_ents: bool, with_fragments: bool) -> None:
    """Write entities to `doc.spans[key]`, their fragments where there are several, and flat ones to `doc.ents`."""
    entities = list(entities)
    whole = [entity for entity in entities if not entity.span.discontinuous]
    places = _tokens(doc, [entity.fragments[0] for entity in whole])
    spans = [Span(doc, *place, label=entity.label) for entity, place in zip(whole, places, strict=True)]
    doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs={"scores": _scores(whole)})
    if with_fragments:
        parts = [(str(n), e, part) for n, e in enumerate(entities) if e.span.discontinuous for part in e.fragments]
        name, scores = key + FRAGMENTS, _scores(entity for _, entity, _ in parts)
        places = _tokens(doc, [part for *_, part in parts])
        fragments = [
            Span(doc, *place, label=entity.label, span_id=number)
            for (number, entity, _), place in zip(parts, places, strict=True)
        ]
        doc.spans[name] = SpanGroup(doc, name=name, spans=fragments, attrs={"scores": scores})
    if set_ents:
        taken = list(doc.ents)
        doc.ents = taken + flat_spans(taken, list(zip(spans, (entity.score or 0.0 for entity in whole), strict=True)))


def _tokens(doc: Doc, fragments: Sequence[Fragment]) -> list[tuple[int, int]]:
    """The first token of each fragment, and the one after its last."""
    if not fragments:
        return []
    begins, (starts, ends) = doc.to_array("IDX").astype("int64"), numpy.array(fragments).T
    first, stop = begins.searchsorted(starts, "right") - 1, begins.searchsorted(ends - 1, "right")
    return list(zip(first.tolist(), stop.tolist(), strict=True))


def flat_spans(taken: Iterable[Span], scored: list[tuple[Span, float]]) -> list[Span]:
    """Of spans that overlap the longest, of those as long the likeliest; none overlaps what is `taken`."""
    held = {token for span in taken for token in range(span.start, span.end)}
    flat: list[Span] = []
    for span, _ in sorted(scored, key=lambda pair: (pair[0].start - pair[0].end, -pair[1], pair[0].start)):
        tokens = range(span.start, span.end)
        if held.isdisjoint(tokens):
            held.update(tokens)
            flat.append(span)
    return flat


def discontinuous(doc: Doc) -> list[tuple[Span, ...]]:
    """The discontinuous entities of a document, each as the spans of its fragments: `doc._.discontinuous`."""
    entities: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for key, group in doc.spans.items():
        if key.endswith(FRAGMENTS):
            for span in group:
                entities[key, span.id_].append(span)
    return [tuple(spans) for spans in entities.values()]


def _scores(entities: Iterable[Entity]) -> numpy.ndarray:
    return numpy.array([entity.score for entity in entities], dtype="float64")
