"""What requests of a review ask and what the server answers, as OpenAPI describes it."""

from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from nearspan.document import Document
from nearspan.review.review import LONGEST_NAME
from nearspan.server.requests import Body, EntityIn, Pair, Text
from nearspan.server.schemas import DocumentOut, EditOut

Reviewer = Annotated[
    Text, Field(min_length=1, max_length=LONGEST_NAME, description="who answers; a text is with one of them at a time")
]


class ReviewerIn(Body):
    """Who asks."""

    reviewer: Reviewer


class SkipIn(ReviewerIn):
    """A text of the review that its reviewer leaves to others."""

    text: Text

    @property
    def document(self) -> Document:
        """The text as a document."""
        return Document(self.text)


class AnswerIn(SkipIn):
    """A text of the review with the entities that it has."""

    entities: list[EntityIn] = Field(default=[], max_length=10_000, fail_fast=True)

    @model_validator(mode="after")
    def _check_document(self) -> "AnswerIn":
        _ = self.document  # a ValueError says what is wrong with it
        return self

    @property
    def document(self) -> Document:
        """The text as a document."""
        entities = {entity.entity for entity in self.entities}
        return Document(self.text, tuple(sorted(entities)))


class TaskDocumentOut(DocumentOut):
    """A text to answer, with its words: an entity begins and ends where some of them do."""

    words: list[Pair]
    sentences: list[Pair]


class TaskOut(BaseModel):
    """A text to answer."""

    id: str
    document: TaskDocumentOut
    doubt: float = Field(description="how many of its spans the model expects to read wrong")
    near: float = Field(description="the cosine of the memory's sentence that is most like it")
    until: float = Field(description="seconds since 1970: from then on others may have it")


class ProgressOut(BaseModel):
    """How far a review is."""

    texts: int
    known: int = Field(description="that the memory holds, though nobody has answered them here")
    answered: int
    accepted: int = Field(description="answers with just the entities that the model had read")
    recently_accepted: int = Field(description="of the last fifty answers")
    by_reviewer: dict[str, int]
    asked: dict[str, str] = Field(description="the id of the text that each reviewer has")
    training_due: str = Field(description="why the model should be trained again; empty where it need not be")
    training: str = Field(description="running, ready, or failed and why; empty where the model is not trained")
    left: int


class ReviewOut(BaseModel):
    """How far a review is, and in which formats its answers can be had."""

    progress: ProgressOut
    formats: list[str]


class NextOut(BaseModel):
    """The text to answer; null where none is left that others do not have."""

    task: TaskOut | None
    progress: ProgressOut


class AnsweredOut(BaseModel):
    """The edit that an answer is."""

    edit: EditOut
    accepted: bool = Field(description="whether the entities are those that the model had read")
    is_late: bool = Field(description="whether its time was over; it counts, as nobody else has answered the text")
    progress: ProgressOut


class AnswersOut(BaseModel):
    """All answers as a file."""

    name: str
    content: str = Field(description="of the file, as base64")
    problems: list[str] = Field(description="what the format cannot keep")
