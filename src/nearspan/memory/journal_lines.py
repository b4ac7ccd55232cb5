"""What a line of the journal holds: edits of each kind, checked value by value when they are read."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Strict(BaseModel):
    """Content of the journal, which is as we write it."""

    model_config = ConfigDict(extra="forbid", strict=True)


KindOfLine = TypeVar("KindOfLine")
Change = TypeVar("Change")
Count = Annotated[int, Field(ge=0)]
Pair = tuple[Count, Count]  # of characters or words, half-open
Times = Annotated[float, Field(gt=0, allow_inf_nan=False)]  # how often a sentence or a span counts


TimesOrNone = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Carried = tuple[Count, Count, Times, TimesOrNone]


class _Document(_Strict):
    id: str
    text: str
    entities: list[tuple[list[Pair], str] | tuple[list[Pair], str, str]]  # fragments, label, identifier
    words: list[Pair] | None
    sentences: list[Pair] | None


class _Review(_Strict):
    reviewer: str
    accepted: bool  # whether the model had read the text so


class _Vote(_Strict):
    times: Times
    temperature: Times
    neighbours: Count
    known: list[str]
    fitted: Count
    known_times: Times


class _Add(_Strict):
    document: _Document
    first: Count  # the id of its first sentence
    count: Count  # of its sentences
    weight: Times = 1.0
    entity_weight: Times = 1.0
    weights: list[TimesOrNone] = []  # of its sentences, where they differ
    span_weights: list[list[tuple[Count, Count, Times]]] = []
    carried: list[list[Carried]] = []
    review: _Review | None = None  # where it is an answer
    vote: _Vote | None = None  # how spans count from now on


class _Relabel(_Strict):
    sentences: list[Count]
    span: list[Pair]
    label: str
    identifier: str = ""
    weight: TimesOrNone = 1.0
    span_weights: list[tuple[Count, Count, Times]] = []
    carried: list[Carried] = []
    vote: _Vote | None = None


class _Remove(_Strict):
    sentences: list[Count]
    span: list[Pair] = []
    forgotten: list[int] = []


class _Undo(_Strict):
    undoes: Count


class _Train(_Strict):
    model: str  # the folder that a warm start began with
    base: str  # what names the memory that it had, and how many edits of it were trained on
    edits: Count


class _Line(_Strict, Generic[KindOfLine, Change]):
    """A line of the journal."""

    number: int
    time: str
    kind: KindOfLine
    summary: str
    change: Change
    receipt: list[str]
    chain: str


LINES: TypeAdapter[Any] = TypeAdapter(  # type: ignore[arg-type, unused-ignore]
    Annotated[
        _Line[Literal["add"], _Add]
        | _Line[Literal["relabel"], _Relabel]
        | _Line[Literal["remove", "forget"], _Remove]
        | _Line[Literal["undo"], _Undo]
        | _Line[Literal["train"], _Train],
        Field(discriminator="kind"),
    ]
)
