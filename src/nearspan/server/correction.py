"""Correcting a prediction: its sentence is remembered as it should have been read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError
from nearspan.memory import Edit
from nearspan.memory.editor import Editor
from nearspan.memory.sentences import SentenceView
from nearspan.model import Model
from nearspan.model.decode import Overlap
from nearspan.segment import Sentence

CORRECTIONS = "corrections"  # the document that corrected sentences are remembered under

Overlaps = tuple[Overlap, Overlap]  # how contiguous entities may overlap, and how two of which one is discontinuous


@dataclass(frozen=True)
class Correction:
    """What a correction did to the memory, and what the model says of the span since."""

    edit: Edit
    label: str  # "" for no entity


def correct(editor: Editor, text: str, span: Span, label: str) -> Correction:
    """Have a span of a text read with a label, or as no entity where it is `""`: one edit of the memory.

    Sentences of the memory with the same text are corrected there. Where there are none, the sentence is added with
    what the model finds in it now, but for the span and what cannot stand beside it. It counts as often as it
    takes for the model to read it so.
    """
    model, document = editor.model, Document(text)
    before = model.neighbours(document, span, 1).label  # raises where the model does not consider such a span
    sentence = next(one for one in model.split(document) if one.start <= span.start and span.end <= one.end)
    mine, known = span.shifted(-sentence.start), editor.copies(sentence.text)
    wanted = [label] if label else []
    if known and before == label and all(_labels(one, mine) == wanted for one in known):
        raise EditError(f"{span.text(text)!r} is {label or 'no entity'} already, in the memory and for the model")
    if known:
        edit = editor.relabel([one.id for one in known], mine, label)
    else:
        overlaps = (model.overlap, model.joined_overlap)
        entities = _corrected(_found(model, document, sentence), mine, label, overlaps)
        edit = editor.add(replace(_alone(sentence), entities=entities))
    return Correction(edit, model.neighbours(document, span, 1).label)


def _labels(one: SentenceView, span: Span) -> list[str]:
    return [entity.label for entity in one.entities if entity.span == span]


def _found(model: Model, document: Document, sentence: Sentence) -> list[Entity]:
    """What the model finds in a sentence of a document."""
    (annotated,) = model.annotate([document])
    return [
        Entity(entity.span.shifted(-sentence.start), entity.label)
        for entity in annotated.entities
        if sentence.start <= entity.start and entity.end <= sentence.end
    ]


def _corrected(entities: Iterable[Entity], span: Span, label: str, overlaps: Overlaps) -> tuple[Entity, ...]:
    """A sentence's entities with one corrected; what cannot stand beside it gives way.

    >>> [found] = _corrected([Entity.of(0, 8, "PLACE")], Span.of(4, 8), "PERSON", ("flat", "any"))
    >>> found.label
    'PERSON'
    """
    kept = [entity for entity in entities if entity.span != span]
    if label:
        kept = [entity for entity in kept if _beside(entity.span, span, overlaps)] + [Entity(span, label)]
    return tuple(sorted(kept))


def _beside(one: Span, other: Span, overlaps: Overlaps) -> bool:
    """Whether two entities can both be: apart, or one in the other where nesting is allowed, or in any way.

    >>> [_beside(Span.of(0, 5), Span.of(2, 5), (overlap, "any")) for overlap in ("flat", "nested", "any")]
    [False, True, True]
    """
    overlap = overlaps[one.discontinuous or other.discontinuous]
    nested = one.covers(other) or other.covers(one)
    return overlap == "any" or not one.overlaps(other) or (overlap == "nested" and nested)


def _alone(sentence: Sentence) -> Document:
    """A sentence as a document of the same words."""
    start = sentence.start
    words = [(sentence.words[first][0] - start, sentence.words[stop - 1][1] - start) for first, stop in sentence.runs]
    return Document(sentence.text, (), CORRECTIONS, tuple(words), ((0, len(sentence.text)),))
