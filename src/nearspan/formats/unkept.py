"""What formats of plain text do not keep, as problems of the kind "changed"."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nearspan.formats.corpus import Corpus, Problem, count_scores
from nearspan.io.paths import display_path


def unkept_words(corpus: Corpus, path: Path, name: str) -> tuple[Problem, ...]:
    """The note that a format of plain text keeps no word and sentence boundaries."""
    count = sum(document.words is not None or document.sentences is not None for document in corpus)
    message = f"{name} keeps no word and sentence boundaries; documents that had some: {count}"
    return (Problem("changed", message, display_path(path)),) if count else ()


def unkept_scores(corpus: Corpus, path: Path) -> tuple[Problem, ...]:
    """The note that entities are written without their scores."""
    count = count_scores(corpus)
    return (Problem("changed", f"scores not kept: {count}", display_path(path)),) if count else ()


def unkept_ids(corpus: Corpus, ids: Iterable[str], path: Path) -> tuple[Problem, ...]:
    """The note that documents are written under other names than their ids."""
    count = sum(document.id not in ("", id) for document, id in zip(corpus, ids, strict=True))
    return (Problem("changed", f"document ids not kept: {count}", display_path(path)),) if count else ()
