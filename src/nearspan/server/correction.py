"""Correcting a prediction: the memory keeps its sentence as it should have been read."""

from dataclasses import dataclass
from typing import Any

from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError
from nearspan.memory import Edit, Editor, Preview
from nearspan.model.decode import replace_entity

CORRECTIONS = "corrections"  # the document that corrected sentences are kept under


@dataclass(frozen=True)
class Correction:
    """The edit that a correction is, and the label that the model gives the span after it."""

    edit: Edit
    label: str  # "" for no entity

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"edit": self.edit.to_dict(), "label": self.label or None}


def preview(editor: Editor, text: str, span: Span, label: str) -> Preview:
    """What a correction would change in held-out sentences; nothing is edited."""
    return editor.preview(lambda memory: correct(memory, text, span, label).edit)


def correct(editor: Editor, text: str, span: Span, label: str) -> Correction:
    """Have a span of a text read with a label, or as no entity where it is `""`: one edit of the memory.

    Where the memory has the sentence already, its copies are relabelled. Otherwise the sentence is added with the
    entities that the model finds in it now, except those that cannot stand beside the corrected one. It counts as often
    as it takes for the model to read it so.

        correct(editor, "Ada lives in Oslo", Span.of(13, 17), "PLACE")
    """
    model, document = editor.model, Document(text)
    predicted = model.explain_span(document, span, 1).label  # raises where the model does not consider such a span
    sentence = next(part for part in model.split(document) if part.start <= span.start and span.end <= part.end)
    local, copies = span.shift(-sentence.start), editor.copies(sentence.text)
    if copies:
        kept = [[entity.label for entity in copy.entities if entity.span == local] for copy in copies]
        if predicted == label and all(labels == ([label] if label else []) for labels in kept):
            raise EditError(f"{span.text(text)!r} is {label or 'no entity'} already, in the memory and for the model")
        edit = editor.relabel([copy.id for copy in copies], local, label)
    else:
        predictions = [
            Entity(entity.span.shift(-sentence.start), entity.label)
            for entity in model(document, threshold=0).entities
            if sentence.start <= entity.start and entity.end <= sentence.end
        ]
        entities = replace_entity(predictions, local, label, model.overlap, model.linked_overlap)
        edit = editor.add(sentence.to_document(CORRECTIONS).with_entities(entities))
    return Correction(edit, model.explain_span(document, span, 1).label)
