"""What requests ask for, as OpenAPI describes it. All offsets are characters (code points), half-open."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from nearspan.document import Span
from nearspan.memory.reweight import LIMIT

COUNT = 5
_SURROGATE = re.compile("[\ud800-\udfff]")


def _sound(text: str) -> str:
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError("half of a surrogate pair is no character")
    return text


def _fragments(fragments: list[tuple[int, int]]) -> list[tuple[int, int]]:
    Span(tuple(fragments))  # raises a ValueError that says what is wrong
    return fragments


Text = Annotated[str, AfterValidator(_sound)]
Fragments = Annotated[list[tuple[int, int]], Field(min_length=1, max_length=64), AfterValidator(_fragments)]
Label = Annotated[Text, Field(min_length=1, max_length=200)]

Counts = Annotated[
    Annotated[float, Field(gt=0, le=LIMIT)] | Literal["enough"],
    Field(description="as how many copies a sentence counts; enough: as often as it takes for the model to read it so"),
]


class Asked(BaseModel):
    """A request's body; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class AnnotateBody(Asked):
    """One text, or a batch of them."""

    text: Text | None = None
    texts: list[Text] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either text or texts")
        return self

    @property
    def all(self) -> list[str]:
        """The texts."""
        return [self.text] if self.text is not None else self.texts or []


class ExplainBody(Asked):
    """A text whose entities are to be explained."""

    text: Text
    count: int = Field(default=COUNT, ge=1, description="training spans listed for each label")


class SpanBody(Asked):
    """A span of a text."""

    text: Text
    fragments: Fragments

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if self.fragments[-1][1] > len(self.text):
            raise ValueError(f"the span ends at {self.fragments[-1][1]}, after the text's {len(self.text)} characters")
        return self

    @property
    def span(self) -> Span:
        """The fragments as a span."""
        return Span(tuple(self.fragments))


class NeighboursBody(SpanBody):
    """A span to ask about, predicted or not."""

    label: Text = Field(
        default="", max_length=200, description="ask why it has this label; the most probable one where left out"
    )
    count: int = Field(default=COUNT, ge=1, description="training spans listed for each label")


class EntityBody(Asked):
    """An entity to remember."""

    fragments: Fragments
    label: Label


class AddBody(Asked):
    """A text to remember with its entities."""

    text: Text
    entities: list[EntityBody] = Field(default=[], max_length=10_000)
    document: Text = Field(default="", max_length=500, description="what it is called; a name is made where left out")
    weight: Counts = "enough"

    @model_validator(mode="after")
    def _inside(self) -> Self:
        for entity in self.entities:
            if entity.fragments[-1][1] > len(self.text):
                raise ValueError(f"the {entity.label} ends after the text's {len(self.text)} characters")
        return self


class RelabelBody(Asked):
    """A span of a remembered sentence, and the only label it shall have; null: no entity."""

    fragments: Fragments
    label: Label | None
    weight: Counts = "enough"


class CorrectionBody(SpanBody):
    """A span of a text, and the label it should have; null: no entity."""

    label: Label | None
