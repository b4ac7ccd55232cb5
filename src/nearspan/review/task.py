"""What a review gives: a text to answer, what became of an answer, and how far the review is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from nearspan.document import Document
from nearspan.memory import Edit


@dataclass(frozen=True)
class Task:
    """A text to answer, with the entities that the model reads in it now."""

    id: str
    document: Document
    doubt: float  # how many of its spans the model expects to read wrong
    near: float  # the cosine of the memory's sentence that is most like it
    until: float  # seconds since 1970: from then on others may have it

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        measures = {"doubt": self.doubt, "near": self.near, "until": self.until}
        return {"id": self.id, "document": self.document.to_dict(), **measures}


@dataclass(frozen=True)
class Answer:
    """The edit of the memory that an answer is."""

    edit: Edit
    accepted: bool  # whether the entities are those that the model had read
    is_late: bool  # whether the reviewer had the text no more. It counts, as nobody else has answered it

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"edit": self.edit.to_dict(), "accepted": self.accepted, "is_late": self.is_late}


@dataclass(frozen=True)
class Progress:
    """How far a review is."""

    texts: int
    known: int  # that the memory holds, though nobody has answered them here
    answered: int
    accepted: int  # answers with just the entities that the model had read
    recently_accepted: int  # of the last fifty answers
    by_reviewer: dict[str, int]
    asked: dict[str, str]  # the text that each reviewer has
    training_due: str  # why the model should be trained again; "" where it need not be
    training: str  # "running", "ready", "failed: ..." with the reason; "" where it is not trained

    @property
    def left(self) -> int:
        """Texts that are to be answered."""
        return self.texts - self.known - self.answered

    def __str__(self) -> str:
        known = f", {self.known:,} known already" if self.known else ""
        accepted = f", {self.accepted:,} of them as the model had read them" if self.answered else ""
        return f"{self.answered:,} of {self.texts:,} texts answered{accepted}{known}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"left": self.left}
