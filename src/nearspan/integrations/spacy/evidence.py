"""Why an entity of a spaCy document is one: `span._.evidence`, computed when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from spacy.tokens import Doc, Span

from nearspan import document as nearspan_document
from nearspan.document import Entity, Fragment
from nearspan.errors import ModelError
from nearspan.integrations.spacy.annotations import FRAGMENTS, to_document

if TYPE_CHECKING:
    from nearspan.explain import Evidence
    from nearspan.model import Model


@dataclass(frozen=True, slots=True)
class Annotator:
    """Who annotated a document under a key of its spans, and in which sentences."""

    load_model: Callable[[], Model]
    key: str
    sentences: tuple[Fragment, ...] | None  # a later component may have set others

    def has_found(self, span: Span) -> bool:
        """Whether a span is one of this annotator's."""
        return any(span in span.doc.spans.get(key, ()) for key in (self.key, self.key + FRAGMENTS))

    def explain(self, span: Span) -> Evidence:
        """Evidence for a span of the document; for one without a label, whatever it is near to."""
        model, document = self.load_model(), replace(to_document(span.doc), sentences=self.sentences)
        characters = characters_of(span, self.key + FRAGMENTS)
        if span.label_ not in model.labels[1:]:
            return model.explain_span(document, characters)
        [evidence] = model.explain(document.with_entities([Entity(characters, span.label_, 1.0)]))
        return evidence


# Not in the document, which is written to files and sent to other processes: a model does not go along.
_annotators: WeakKeyDictionary[Doc, list[Annotator]] = WeakKeyDictionary()


def remember_annotator(doc: Doc, annotator: Annotator) -> None:
    """Let a document know whom to ask for evidence, in place of who annotated it under the same key before."""
    others = [earlier for earlier in _annotators.get(doc, ()) if earlier.key != annotator.key]
    _annotators[doc] = [*others, annotator]


def evidence(span: Span) -> Evidence:
    """Evidence for a span by the last component that found it, or else by the last of all: `span._.evidence`."""
    annotators = _annotators.get(span.doc)
    if not annotators:
        raise ModelError(
            "no nearspan component has annotated this document here: evidence needs its model, which a document from a "
            "file or another process has not. Call the pipeline on the text again"
        )
    return next((each for each in reversed(annotators) if each.has_found(span)), annotators[-1]).explain(span)


def characters_of(span: Span, fragments: str) -> nearspan_document.Span:
    """The characters of a span; of a fragment those of its whole entity."""
    group = span.doc.spans.get(fragments, ())
    parts = [part for part in group if part.id == span.id] if span in group else [span]
    return nearspan_document.Span(tuple((part.start_char, part.end_char) for part in parts))
