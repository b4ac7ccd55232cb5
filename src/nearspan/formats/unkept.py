"""What formats of plain text do not keep, as problems of the kind "changed"."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nearspan.formats.corpus import Corpus, Problem, scored
from nearspan.io.paths import shown


def unkept_words(corpus: Corpus, path: Path, format: str) -> tuple[Problem, ...]:
    """The note that a format of plain text keeps no word and sentence boundaries."""
    given = sum(document.words is not None or document.sentences is not None for document in corpus.documents)
    message = f"{format} keeps no word and sentence boundaries; documents that had some: {given}"
    return (Problem("changed", message, shown(path)),) if given else ()


def unkept_scores(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """The note that entities are written without their scores."""
    count = scored(corpus)
    return (Problem("changed", f"scores not kept: {count}", shown(path)),) if count else ()


def unkept_ids(corpus: Corpus, named: Iterable[str], path: Path) -> tuple[Problem, ...]:
    """The note that documents are written under other names than their ids."""
    pairs = zip(corpus.documents, named, strict=True)
    changed = sum(document.id not in ("", name) for document, name in pairs)
    return (Problem("changed", f"document ids not kept: {changed}", shown(path)),) if changed else ()
