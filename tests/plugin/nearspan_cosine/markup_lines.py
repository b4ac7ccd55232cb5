"""A format: one sentence a line in markup, after a line `#markup`."""

from __future__ import annotations

from pathlib import Path

from nearspan.formats import Corpus, Problem
from nearspan.formats.format import Format
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source
from nearspan.io.atomic import write_file

FIRST = "#markup"


def read(source: Source) -> Corpus:
    """Read markup, a document a line."""
    source.count(source.text.count("]("))
    lines = enumerate(source.lines[1:], start=2)
    documents = [parse(line, id=f"line-{number}") for number, line in lines if line.strip()]
    return Corpus(tuple(documents), source.problems, "markup-lines")


def detect(source: Source) -> bool:
    """Whether the first line says so."""
    return source.text.startswith(FIRST)


def write(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """Write markup, a document a line."""
    write_file(path, [f"{FIRST}\n", *(f"{render(document)}\n" for document in corpus.documents)])
    return ()


MARKUP_LINES = Format("markup-lines", read, detect, write, endings=(".marked",))
