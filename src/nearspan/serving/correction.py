"""Correcting a prediction: its sentence is remembered as it should have been read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nearspan.decoding import Overlap
from nearspan.document import Document, Entity, Span
from nearspan.editing import Edit, Editor
from nearspan.errors import EditError
from nearspan.model import Model
from nearspan.text import Sentence

CORRECTIONS = "corrections"  # the document that corrected sentences are remembered under
MOST = 32  # copies of a sentence that a correction adds, so that it outweighs what spoke for the mistake
GROWTH = 1.005  # by which more copies must raise the label's probability, or they are no help


Overlaps = tuple[Overlap, Overlap]  # how contiguous entities may overlap, and how two of which one is discontinuous


@dataclass(frozen=True)
class Correction:
    """What a correction did to the memory, and what the model says of the span since."""

    edits: Sequence[Edit]
    label: str  # "" for no entity


def correct(editor: Editor, text: str, span: Span, label: str, *, again: bool = True) -> Correction:
    """Have a span of a text read with a label, or as no entity where it is `""`.

    Sentences of the memory with the same text are corrected there. Where there are none, the sentence is added with
    what the model finds in it now, but for the span and what cannot stand beside it. While the model says otherwise and
    it helps (`again`), copies of the sentence are added: 1, 2, 4 and so on, `MOST` at most; they are taken back where
    they have not been enough.
    """
    model, document = editor.model, Document(text)
    before = model.neighbours(document, span, 1).label  # raises where the model does not consider such a span
    sentence = next(one for one in model.split(document) if one.start <= span.start and span.end <= one.end)
    mine = span.shifted(-sentence.start)
    known = [one for one in editor.sentences(sentence.text, limit=1_000) if one.text == sentence.text]
    wanted = [label] if label else []
    wrong = [one for one in known if [each.label for each in one.entities if each.span == mine] != wanted]
    if known and not wrong and before == label:
        raise EditError(f"{span.text(text)!r} is {label or 'no entity'} already, in the memory and for the model")
    edits = [editor.relabel(one.id, mine, label) for one in wrong]
    entities = known[-1].entities if known else _found(model, document, sentence)
    right = replace(_alone(sentence), entities=_corrected(entities, mine, label, (model.overlap, model.joined_overlap)))
    copies, last = 0, 0.0
    if not known:
        edits.append(editor.add(right))
        copies = 1
    plain = len(edits)
    while (now := model.neighbours(document, span, 1)).label != label:
        if not again or copies >= MOST or now.probabilities[label] < GROWTH * last:
            while len(edits) > max(plain, 1):
                edits.pop()
                editor.undo()
            return Correction(edits, model.neighbours(document, span, 1).label)
        last, more = now.probabilities[label], max(1, copies)
        edits.append(editor.add(_repeated(right, more)))
        copies += more
    return Correction(edits, label)


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


def _repeated(one: Document, times: int) -> Document:
    """A document that says the same several times, each in sentences of their own."""
    step = len(one.text) + 1
    places = [step * number for number in range(times)]
    return Document(
        "\n".join([one.text] * times),
        tuple(Entity(entity.span.shifted(by), entity.label) for by in places for entity in one.entities),
        one.id,
        tuple((a + by, b + by) for by in places for a, b in one.words or ()),
        tuple((a + by, b + by) for by in places for a, b in one.sentences or ()),
    )
