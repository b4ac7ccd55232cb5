"""What requests ask, as OpenAPI describes it: their bodies, checked before anything is done.

All offsets are characters (code points), half-open. A document and its entities have the same shape in requests and in
answers: what `/annotate` gave can be sent to `/memory` as it is.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from nearspan.document import IDENTIFIER, IDENTIFIER_SHARE, Document, Entity, Span
from nearspan.memory.reweight import LIMIT

NEIGHBOURS = 5  # listed for each label
_SURROGATE = re.compile("[\ud800-\udfff]")


def _check_characters(text: str) -> str:
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError("half of a surrogate pair is no character")
    return text


Text = Annotated[str, AfterValidator(_check_characters)]
Label = Annotated[Text, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=1, strict=True, description="training spans listed for each label")]
Edge = Annotated[int, Field(ge=0, strict=True)]
Pair = tuple[Edge, Edge]
Weight = Annotated[
    Annotated[float, Field(gt=0, le=LIMIT, strict=True)] | Literal["enough"],
    Field(description="as how many copies a sentence counts; enough: as many as it takes for the model to read it so"),
]


class Body(BaseModel):
    """A request's body; unknown keys are refused.

    Its lists are read to their first error (`fail_fast`): half a million errors, which is what 1 MB has room for, would
    keep all other requests waiting for seconds.
    """

    model_config = ConfigDict(extra="forbid")


class AnnotateIn(Body):
    """One text, or a batch of them."""

    text: Text | None = None
    texts: list[Text] | None = Field(default=None, fail_fast=True)

    @model_validator(mode="after")
    def _check_one_is_given(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either text or texts")
        return self

    @property
    def batch(self) -> list[str]:
        """The texts."""
        return [self.text] if self.text is not None else self.texts or []


class ExplainIn(Body):
    """A text whose entities are to be explained."""

    text: Text
    count: Count = NEIGHBOURS


class SpanIn(Body):
    """Where a span is: its `fragments`, or `start` and `end` where it is contiguous."""

    start: Edge | None = None
    end: Edge | None = None
    fragments: list[Pair] | None = Field(default=None, min_length=1, max_length=64)

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        span = self.span
        if (self.start, self.end) not in ((None, None), (span.start, span.end)):
            raise ValueError(f"the fragments go from {span.start} to {span.end}, unlike start and end")
        return self

    @property
    def span(self) -> Span:
        """The span; a `ValueError` says what is wrong with it."""
        if self.fragments is not None:
            return Span(tuple(self.fragments))
        if self.start is None or self.end is None:
            raise ValueError("a span needs fragments, or start and end")
        return Span.of(self.start, self.end)


class TextSpanIn(SpanIn):
    """A span of a text."""

    text: Text

    @model_validator(mode="after")
    def _check_inside(self) -> Self:
        if self.span.end > len(self.text):
            raise ValueError(f"the span ends at {self.span.end}, after the text's {len(self.text)} characters")
        return self


class NeighboursIn(TextSpanIn):
    """A span to ask about, predicted or not."""

    label: Text = Field(
        default="", max_length=200, description="ask why it has this label; the most probable one where left out"
    )
    count: Count = NEIGHBOURS


class CorrectionIn(TextSpanIn):
    """A span of a text, and the label it should have; null: no entity."""

    label: Label | None


class RelabelIn(SpanIn):
    """A span of a sentence in the memory, and the only label it shall have; null: no entity."""

    label: Label | None
    identifier: Text = Field(default="", max_length=200, description="of its concept, where it gets one")
    weight: Weight = "enough"


class EntityIn(SpanIn):
    """An entity to remember."""

    label: Label
    text: Text | None = Field(default=None, description="checked against the offsets where given")
    score: float | None = Field(default=None, description="not used: what is remembered is certain")
    stranger: bool = Field(default=False, description="not used: what is remembered is known")
    attributes: dict[str, Any] = Field(
        default={}, description="`identifier` is remembered, unless `identifier_share` says that it is predicted"
    )

    @property
    def entity(self) -> Entity:
        """The entity with its identifier."""
        kept = {name: value for name, value in self.attributes.items() if name in (IDENTIFIER, IDENTIFIER_SHARE)}
        return Entity(self.span, self.label, attributes=kept)


class DocumentIn(Body):
    """A document to remember."""

    text: Text
    entities: list[EntityIn] = Field(default=[], max_length=10_000, fail_fast=True)
    id: Text = Field(default="", max_length=500, description="its name; one is made where left out")
    words: list[Pair] | None = Field(
        default=None, fail_fast=True, description="found by the model's own rules where left out"
    )
    sentences: list[Pair] | None = Field(default=None, fail_fast=True, description="likewise")
    stranger: bool = Field(default=False, description="not used")
    weight: Weight = "enough"

    @model_validator(mode="after")
    def _check_document(self) -> Self:
        for entity in self.entities:
            if entity.text not in (None, entity.span.text(self.text)):
                place = entity.span.start
                raise ValueError(f"the {entity.label} at {place} is another text there: offsets are code points")
        if any(start == end for start, end in self.words or ()):
            raise ValueError("words must be of one character at least")
        _ = self.document
        return self

    @property
    def document(self) -> Document:
        """The document; a `ValueError` says what is wrong with it."""
        entities = sorted({entity.entity for entity in self.entities})
        words, sentences = (None if pairs is None else tuple(pairs) for pairs in (self.words, self.sentences))
        return Document(self.text, tuple(entities), self.id, words, sentences)
