"""Inputs are read in pieces, and what a piece holds is passed on in parts: the same ones whenever it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from nearspan.document import Document
from nearspan.errors import NearspanError, first_line
from nearspan.formats import stream
from nearspan.formats.folder import natural_order
from nearspan.formats.plain_text import ENDING, is_plain_text, read_plain_text, text_id
from nearspan.integrations.ray.inputs import Input
from nearspan.integrations.ray.job import Job
from nearspan.integrations.ray.storage import Place
from nearspan.model.workers import parts

GROUP = 16  # of the parts that workers of one machine take, in a part: some 500,000 characters
TEXTS = 1_000  # of a folder, that are read by one task
SHOWN = 5  # problems of a file
MOST = 10  # attempts to read a piece: it may take hours, in which nodes come and go

Row = dict[str, list[Any]]
"""A row as Ray takes it: a list of one value for each column."""


@dataclass(frozen=True)
class Piece:
    """What one task reads: a file, a folder in a format that has folders, or some texts of a folder."""

    input: int
    number: int  # of the pieces of the input
    texts: Sequence[str] | None  # of a folder of them
    format: str | None
    with_entities: bool  # as where spans are given
    done: Sequence[int] = ()  # the parts that are annotated already

    def to_row(self) -> dict[str, str]:
        """For a dataset."""
        return {"piece": json.dumps(asdict(self))}


@dataclass(frozen=True)
class Part:
    """Some documents of a piece; nothing but its end where `number` is how many there were."""

    input: int
    piece: int
    number: int
    is_end: bool = False
    documents: str = ""  # as JSON; empty where they are annotated already
    problems: str = ""  # of the whole piece
    error: str = ""  # for which the rest is not read

    @classmethod
    def of(cls, piece: Piece, number: int, **values: Any) -> Part:
        """A part of a piece."""
        return cls(piece.input, piece.number, number, **values)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Part:
        """What `to_row` made."""
        return cls(**{name: kind(row[name]) for name, kind in _COLUMNS.items()})

    def to_row(self) -> Row:
        """For a dataset."""
        return {name: [value] for name, value in asdict(self).items()}


_COLUMNS = {"input": int, "piece": int, "number": int, "is_end": bool, "documents": str, "problems": str, "error": str}


def pieces_of(number: int, source: Input, format: str | None, *, with_entities: bool) -> list[Piece]:
    """The pieces of an input."""
    texts = None if format is not None else _texts_of(source.place)
    chunks = [None] if texts is None else [texts[at : at + TEXTS] for at in range(0, len(texts), TEXTS)]
    return [Piece(number, index, chunk, format, with_entities) for index, chunk in enumerate(chunks)]


def read_pieces(batch: dict[str, Any], job: Job, inputs: Sequence[Input]) -> Iterator[Row]:
    """The parts of pieces, which are the rows of a dataset; after the last one of a piece its end, or what is wrong."""
    for text in batch["piece"]:
        piece = Piece(**json.loads(str(text)))
        source = inputs[piece.input]
        count = 0
        problems: list[str] = []
        try:
            with job.attempt(source.output, f"read-{piece.number}", "reading it", MOST):
                for part in _parts(_documents(source.place, piece, problems)):
                    documents = "" if count in piece.done else _to_json(part, piece.with_entities)
                    yield Part.of(piece, count, documents=documents).to_row()
                    count += 1
        except Exception as error:  # of a file that somebody else has made: the others are read all the same
            yield Part.of(piece, count, is_end=True, error=reason_of(error)).to_row()
        else:
            yield Part.of(piece, count, is_end=True, problems="\n".join(problems)).to_row()


def reason_of(error: Exception) -> str:
    """What an error says to a user."""
    text = str(error) if isinstance(error, NearspanError) else f"{type(error).__name__}: {first_line(error)}"
    return " ".join([text, *getattr(error, "__notes__", [])])


def from_json(documents: str) -> list[list[Document]]:
    """The documents of a part, as workers of one machine would have them."""
    return [[Document.from_dict(record) for record in group] for group in json.loads(documents)]


def _to_json(part: Iterable[Iterable[Document]], with_entities: bool) -> str:
    groups = [[each if with_entities else each.with_entities(()) for each in group] for group in part]
    return json.dumps([[each.to_dict() for each in group] for group in groups])


def _parts(documents: Iterable[Document]) -> Iterator[list[list[Document]]]:
    groups = parts(documents)
    while part := list(islice(groups, GROUP)):
        yield part


def _texts_of(place: Place) -> list[str] | None:
    """The texts of a folder of them, in the natural order of their names; None where it is something else."""
    if not place.system.isdir(place.path):
        return None
    names = place.names()
    texts = sorted((name for name in names if name.lower().endswith(ENDING)), key=natural_order)
    return texts if texts and not any(name.lower().endswith(".ann") for name in names) else None


def _documents(place: Place, piece: Piece, problems: list[str]) -> Iterator[Document]:
    """The documents of a piece; what is wrong in them is listed once all are read."""
    for name in piece.texts or ():
        with _opened(place / name) as path:
            yield read_plain_text(path, text_id(name))
    if piece.texts is not None:
        return
    with _opened(place) as path:
        if is_plain_text(path, piece.format):
            yield read_plain_text(path)
            return
        documents = stream(path, piece.format)
        yield from documents
        found = [str(problem).replace(str(path), place.address) for problem in documents.problems]
        problems += found[:SHOWN]
        if len(found) > SHOWN:
            problems.append(f"{place.address}: and {len(found) - SHOWN:,} more problems")


@contextmanager
def _opened(place: Place) -> Iterator[Path]:
    """A file on this machine; errors name the address that it is from."""
    with place.on_this_machine() as path:
        try:
            yield path
        except NearspanError as error:
            raise type(error)(str(error).replace(str(path), place.address)) from error
