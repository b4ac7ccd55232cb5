"""What the server answers, as OpenAPI describes it; `requests.py` has what is asked.

All offsets are characters (code points), half-open.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from nearspan.document import Fragment
from nearspan.server.limits import Limits


class SpanOut(BaseModel):
    """A span; several `fragments` where it is discontinuous."""

    text: str
    start: int
    end: int
    fragments: list[Fragment]


class EntityOut(SpanOut):
    """An entity; its score is null where no model gave it one."""

    label: str
    score: float | None = None
    stranger: bool = Field(default=False, description="there where it is true: far from all entities of the memory")
    attributes: dict[str, Any] = Field(
        default={},
        description="there where there are some: `identifier` of a concept, `identifier_share` in the memory",
    )


class DocumentOut(BaseModel):
    """A text with the entities found in it."""

    id: str
    text: str
    entities: list[EntityOut]
    stranger: bool = Field(default=False, description="there where it is true: many of the entities are strangers")


class AnnotateOut(BaseModel):
    """A document for each text, in order."""

    documents: list[DocumentOut]


class MemorySpanOut(SpanOut):
    """A span of the memory, where it stands; offsets are in `sentence`, a null `label` is no entity."""

    label: str | None
    sentence: str
    document: str
    sentence_id: int = Field(description="for editing the sentence; no edit changes it")


class NeighbourOut(MemorySpanOut):
    """A training span with its weight."""

    weight: float
    row: int = Field(
        description="of the span in the memory, which edits may change; of a recalled word its slot; -1 where linked"
    )
    identifier: str | None = Field(description="of its concept")


class CounterEvidenceOut(BaseModel):
    """The smallest set of training spans whose removal changes a label; the first hundred of them are listed."""

    size: int
    label: str | None
    neighbours: list[NeighbourOut]


class RecalledWordOut(BaseModel):
    """A word of a span, and the training occurrences of the word that were blended into its state."""

    text: str
    weight: float = Field(description="of the occurrences in the word's state: 0 where training lacks the word")
    neighbours: list[NeighbourOut] = Field(description="the word where it occurs; a label is of the entity it is in")
    unlisted: float = Field(description="the weight of the occurrences not listed")


class EvidenceOut(SpanOut):
    """Why a span has its label, as `Evidence.to_dict()` gives it; in objects by label the key `null` is no entity."""

    label: str | None
    strength: str = Field(
        description="exact: the weights add up to the probability; attended: what the span's words recalled from "
        "training, a part of what the head read; nearest: look-alikes by cosine"
    )
    probabilities: dict[str, float] = Field(description="by the model itself; exact evidence adds up to these")
    score: float | None = Field(description="of the label: its probability after calibration; null: no entity")
    stranger: bool = Field(description="whether it is far from all entities of the memory")
    neighbours: dict[str, list[NeighbourOut]]
    unlisted: dict[str, float] = Field(description="exact: the weight of the neighbours not listed")
    against: list[NeighbourOut] = Field(description="the nearest spans that do not have the label")
    counter_evidence: CounterEvidenceOut | None = Field(description="exact: what to remove for another label")
    weight: float = Field(description="of the memory in the probabilities: 1 where it alone decides")
    knn_probabilities: dict[str, float] = Field(description="the memory's own, where it is interpolated")
    recalled: list[RecalledWordOut] = Field(description="for each word of the span, where the encoder recalls words")
    identifiers: dict[str, float] = Field(description="their shares by spelling, where the memory has some")
    linked: list[NeighbourOut] = Field(description="training spans by their shares in the identifiers")


class ExplainOut(BaseModel):
    """Evidence for each entity, in order."""

    evidence: list[EvidenceOut]


class PointOut(MemorySpanOut):
    """An entity of the memory on the map."""

    x: float
    y: float


class MapOut(BaseModel):
    """The memory's entities along the two directions in which their vectors differ most."""

    points: list[PointOut]
    entities: int = Field(description="of the memory; the map shows a part of them where it has fewer points")
    explained_variance: tuple[float, float] = Field(description="the share of the variance along each direction")


class ErrorOut(BaseModel):
    """A wrong prediction in its sentences; `gold` is null where it is spurious, `predicted` where it is missed."""

    kind: str
    document: str
    text: str
    gold: EntityOut | None
    predicted: EntityOut | None


class ErrorsOut(BaseModel):
    """Scores on the corpus, and a page of errors."""

    scores: dict[str, Any]
    kinds: dict[str, int]
    total: int = Field(description="errors of the kind and label asked for")
    errors: list[ErrorOut]
    scored: float = Field(
        ge=0,
        le=1,
        description="the share of the corpus that has been scored with the memory as it is; below 1 all else is as it "
        "was before the last edit, and asking again goes on",
    )


class HealthOut(BaseModel):
    """What is served."""

    status: str
    version: str
    recipe: str
    labels: list[str]
    colours: dict[str, str] = Field(description="each label's class in /page/colours.css")
    overlap: str
    sentences: int = Field(description="of the memory")
    datastore_weight: float = Field(description="of the memory in a prediction: with 0, edits change none")
    waiting: int = Field(description="requests that wait for the model, with the one that is served")
    corpus: bool = Field(description="whether a corpus was given, so that /errors answers")
    review: int = Field(description="texts of the review; with 0 there is none")
    limits: Limits


class EdgesOut(BaseModel):
    """A contiguous span of a sentence."""

    start: int
    end: int


class SpanWeightOut(EdgesOut):
    """A span that counts so many times as much as the others of its sentence."""

    weight: float


class CarriedOut(EdgesOut):
    """A span that counts so many times for its own words: in its sentence, and wherever else they are read."""

    weight: float
    elsewhere: float


class SentenceOut(BaseModel):
    """A sentence of the memory; no edit changes its id."""

    id: int
    text: str
    entities: list[EntityOut]
    removed: list[EdgesOut] = Field(description="spans that were removed from the memory")
    document: str
    weight: float = Field(description="as how many copies it counts; 0: it speaks for its corrected words alone")
    entity_weight: float = Field(description="how many times more each of its entities counts")
    span_weights: list[SpanWeightOut] = Field(description="spans that count more than the others of the sentence")
    carried: list[CarriedOut] = Field(description="corrected spans, which count more for the same words alone")


class SentencesOut(BaseModel):
    """A page of sentences, in order of their ids."""

    sentences: list[SentenceOut]


class EditOut(BaseModel):
    """An edit as the journal keeps it."""

    number: int
    time: str
    kind: str
    summary: str
    receipt: list[str]


class CorrectionOut(BaseModel):
    """The edit that a correction is, and the label that the model gives the span after it; null: no entity."""

    edit: EditOut
    label: str | None


class ChangeOut(BaseModel):
    """A span of a held-out sentence that would be read otherwise; null: no entity."""

    effect: Literal["mended", "broken", "other"]
    sentence: str
    text: str
    before: str | None
    after: str | None
    gold: str | None


class PreviewOut(BaseModel):
    """An edit that was not made, and what it would change."""

    edit: EditOut
    held_out: int = Field(description="sentences of the memory like the corrected one, each read without itself")
    mended: int
    broken: int
    other: int = Field(description="read otherwise, and wrong before and after")
    harms: bool = Field(description="whether it breaks more than it mends")
    changes: list[ChangeOut]


class LogOut(BaseModel):
    """A page of edits, the last one first."""

    total: int
    edits: list[EditOut]
    undoable: int | None = Field(description="the edit that an undo would take back; null where none stands")
    training_due: str = Field(description="why the model should be trained again; empty where it need not be")


class AccessOut(BaseModel):
    """What the token that was sent is for."""

    edits: bool


class RefusalOut(BaseModel):
    """Why a request was not served."""

    error: str


STATUSES = {
    400: "this is no HTTP, or no UTF-8",
    401: "the token is missing or wrong",
    403: "the token is for reading only",
    404: "the server was started without a corpus, or without texts to review",
    408: "the request came too slowly",
    409: "the memory cannot be edited so, cannot be read, or is not there",
    413: "the request is too large",
    421: "the server does not answer to this host",
    422: "the request is malformed, or the model cannot answer it",
    503: "too many requests are waiting, or connections open; try again after Retry-After seconds",
    504: "the answer takes longer than answer_seconds",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Refusals that a route may answer with, for OpenAPI."""
    return {status: {"model": RefusalOut, "description": STATUSES[status]} for status in statuses}
