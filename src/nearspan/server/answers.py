"""What the server answers, as OpenAPI describes it. All offsets are characters (code points), half-open."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from nearspan.document import Entity
from nearspan.memory import Edit
from nearspan.server.limits import Limits


class EntityOut(BaseModel):
    """An entity; `fragments` are several where it is discontinuous."""

    text: str
    label: str
    score: float | None
    fragments: list[tuple[int, int]]

    @classmethod
    def of(cls, entity: Entity, text: str) -> Self:
        """An entity of a text."""
        return cls(
            text=entity.span.text(text),
            label=entity.label,
            score=entity.score,
            fragments=list(entity.span.fragments),
        )


class DocumentOut(BaseModel):
    """The entities found in a text."""

    entities: list[EntityOut]


class AnnotateOut(BaseModel):
    """A document for each text, in order."""

    documents: list[DocumentOut]


class NeighbourOut(BaseModel):
    """A training span with its weight; `fragments` are offsets in `sentence`, a null `label` is no entity."""

    label: str | None
    weight: float
    text: str
    fragments: list[tuple[int, int]]
    sentence: str
    document: str
    row: int = Field(description="of the span in the memory, which edits may change; of a recalled word its slot")
    sentence_id: int = Field(description="of the sentence in the memory, for editing it")


class FlipOut(BaseModel):
    """The smallest set of memory spans whose removal changes a label, the first hundred of them listed."""

    size: int
    label: str | None
    neighbours: list[NeighbourOut]


class RecollectionOut(BaseModel):
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    share: float = Field(description="of the occurrences in the word's state: 0 where training lacks the word")
    neighbours: list[NeighbourOut] = Field(description="the word where it occurs; a label is of the entity it is in")
    unlisted: float = Field(description="the weight of the occurrences not listed")


class EvidenceOut(BaseModel):
    """Why a span has its label; in the objects by label the key `null` is no entity."""

    text: str
    fragments: list[tuple[int, int]]
    label: str | None
    strength: str = Field(
        description="exact: the weights add up to the probability; attended: what the span's words recalled from "
        "training, a part of what the head read; nearest: look-alikes by cosine"
    )
    probabilities: dict[str, float]
    neighbours: dict[str, list[NeighbourOut]]
    unlisted: dict[str, float] = Field(description="exact: what the neighbours not listed add")
    against: list[NeighbourOut] = Field(description="the nearest spans that do not have the label")
    flip: FlipOut | None = Field(description="exact: the least that would have to go for another label")
    share: float = Field(description="of the memory in the probabilities: 1 where it alone decides")
    voted: dict[str, float] = Field(description="what the memory says where it has a vote beside the head")
    recalled: list[RecollectionOut] = Field(description="for each word of the span, where the encoder recalls words")


class ExplainOut(BaseModel):
    """Evidence for each entity, in order."""

    evidence: list[EvidenceOut]


class PointOut(BaseModel):
    """An entity of the memory on the map; `fragments` are offsets in `sentence`."""

    x: float
    y: float
    label: str
    text: str
    fragments: list[tuple[int, int]]
    sentence: str
    document: str
    sentence_id: int


class MapOut(BaseModel):
    """The memory's entities along the two directions in which their vectors differ most."""

    points: list[PointOut]
    entities: int = Field(description="of the memory; more than there are points where the map shows a part of them")
    explained: tuple[float, float] = Field(description="the share of the variance along each direction")


class MistakeOut(BaseModel):
    """An error in its sentences; `gold` is null where there is nothing, `predicted` where nothing was found."""

    kind: str
    document: str
    text: str
    gold: EntityOut | None
    predicted: EntityOut | None


class MistakesOut(BaseModel):
    """Scores on the corpus, and the errors asked for."""

    scores: dict[str, Any]
    kinds: dict[str, int]
    total: int = Field(description="errors of the kind and label asked for")
    errors: list[MistakeOut]
    edited: bool = Field(description="whether the memory has been edited since the corpus was scored")


class HealthOut(BaseModel):
    """What is served."""

    status: str
    version: str
    recipe: str
    labels: list[str]
    overlap: str
    sentences: int = Field(description="of the memory")
    share: float = Field(description="of the memory in what is decided: with 0, edits change nothing that is predicted")
    waiting: int = Field(description="requests that wait for the model, with the one that is served")
    corpus: bool = Field(description="whether a corpus was given, so that /errors answers")
    limits: Limits


class SentenceEntityOut(BaseModel):
    """An entity of a remembered sentence; `fragments` are offsets in its text."""

    fragments: list[tuple[int, int]]
    label: str
    text: str


class StretchOut(BaseModel):
    """Characters of a remembered sentence."""

    start: int
    end: int


class HeavierOut(StretchOut):
    """A span of a remembered sentence that counts so many times as much as its others."""

    times: float


class SentenceOut(BaseModel):
    """A sentence of the memory; its id stays the same through all edits."""

    id: int
    text: str
    entities: list[SentenceEntityOut]
    removed: list[StretchOut] = Field(description="spans that are remembered no more")
    document: str
    weight: float = Field(description="as how many copies it counts")
    heavier: list[HeavierOut] = Field(description="spans that count more than the others of the sentence")


class SentencesOut(BaseModel):
    """The sentences asked for, in order of their ids."""

    sentences: list[SentenceOut]


class EditOut(BaseModel):
    """An edit as the journal keeps it."""

    number: int
    time: str
    kind: str
    summary: str
    receipt: list[str]

    @classmethod
    def of(cls, edit: Edit) -> Self:
        """An edit."""
        return cls(**edit.to_dict())


class CorrectionOut(BaseModel):
    """The edit that a correction is, and what the model says of the span after it; null: no entity."""

    edit: EditOut
    label: str | None


class LogOut(BaseModel):
    """The edits asked for, the last one first."""

    total: int
    edits: list[EditOut]


class ErrorOut(BaseModel):
    """Why a request was not served."""

    error: str
