"""Plain text: a file is a document, and so is each text of a folder."""

import logging
from collections.abc import Iterator
from pathlib import Path

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.folder import files_that_end
from nearspan.io.paths import display_path

logger = logging.getLogger(__name__)

ENDING = ".txt"


def is_plain_text(path: Path, format: str | None = None) -> bool:
    """Whether a file is taken for plain text: one that ends in .txt, unless a format is named."""
    return format is None and path.suffix.lower() == ENDING


def is_folder_of_texts(path: Path, format: str | None = None) -> bool:
    """Whether a folder, with all folders in it, holds plain texts and no annotations of brat's."""
    if format is not None or not path.is_dir() or files_that_end(path, (".ann",)):
        return False
    return bool(files_that_end(path, (ENDING,)))


def read_plain_text(path: Path, id: str | None = None) -> Document:
    """A file of plain text as one document, named after the file unless an id is given."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{display_path(path)} is not UTF-8 at byte {error.start}: convert it first") from error
    except OSError as error:
        raise CorpusError(f"cannot read {display_path(path)}: {error.strerror}") from error
    if not text.strip():
        logger.warning("%s is empty", display_path(path))
    return Document(text, id=display_path(path.stem) if id is None else id)


def read_folder_of_texts(folder: Path) -> Iterator[Document]:
    """The texts of a folder and of all folders in it, in the natural order of their names, which are their ids."""
    for file in files_that_end(folder, (ENDING,)):
        yield read_plain_text(file, text_id(file.relative_to(folder).as_posix()))


def text_id(name: str) -> str:
    """The id of a text by its name in a folder.

    >>> text_id("letters/1.txt")
    'letters/1'
    """
    return display_path(name[: -len(ENDING)])
