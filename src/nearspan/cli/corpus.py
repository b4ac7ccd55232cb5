"""Reading corpora for a command, with their problems shown."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.io.paths import display_path

if TYPE_CHECKING:
    from nearspan.formats import Problem

logger = logging.getLogger(__name__)

SHOWN = 5  # problems of a corpus, before the rest is only counted


def read_documents(
    paths: Sequence[Path], format: str | None = None, columns: str | None = None
) -> tuple[Document, ...]:
    """The documents of files; what is wrong in them is shown as warnings."""
    from nearspan.formats import read

    if not paths:
        return ()
    corpus = read(list(paths), format, columns=label_columns(columns))
    warn_of_problems(corpus.problems, f": see  nearspan check {shlex.join(map(str, paths))}")
    return corpus.documents


def warn_of_problems(problems: Sequence[Problem], more: str = "") -> None:
    """Show the first few problems, and how many there are beside them."""
    for problem in problems[:SHOWN]:
        logger.warning("%s", problem)
    if len(problems) > SHOWN:
        logger.warning("and %s more problems%s", f"{len(problems) - SHOWN:,}", more)


def label_columns(columns: str | None) -> list[int] | None:
    """The value of --columns as numbers.

    >>> label_columns("1,-1")
    [1, -1]
    """
    if columns is None:
        return None
    try:
        return [int(column) for column in columns.split(",")]
    except ValueError:
        raise CorpusError(f"--columns takes numbers such as 1,2 or -1, found '{columns}'") from None


def is_plain_text(path: Path, format: str | None) -> bool:
    """Whether a file is taken for plain text: one that ends in .txt, unless a format is named."""
    return format is None and path.suffix.lower() == ".txt"


def read_plain_text(path: Path) -> Document:
    """A file of plain text as one document."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{display_path(path)} is not UTF-8 at byte {error.start}: convert it first") from error
    except OSError as error:
        raise CorpusError(f"cannot read {display_path(path)}: {error.strerror}") from error
    if not text.strip():
        logger.warning("%s is empty", display_path(path))
    return Document(text, id=display_path(path.stem))
