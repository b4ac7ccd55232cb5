"""What a format is: how it is recognised, read and written, and what is said of what it cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, excerpt
from nearspan.formats.source import Source
from nearspan.io.paths import display_path


@dataclass(frozen=True)
class Format:
    """A way to keep a corpus. A package of your own adds one by registering it:

        nearspan.register("format", Format("tei", read_tei, is_tei, write_tei, endings=(".tei",)))

    Then `nearspan.read`, `write`, `check` and `convert` know it by its name, by its content and by its ending.

    Args:
        name: what users call it.
        read: reads a file into a corpus. What is wrong in the file goes into `Corpus.problems`. `Draft` helps.
        detect: whether a file is of this format. It is also given files of other formats.
        write: writes a corpus, in one step (`nearspan.io.atomic.write_file`), and returns what it could not keep.
            An entity that it cannot keep is a CorpusError. None: the format is only read.
        endings: of the files that are written in this format if none is named.
        folder: whether a corpus is a folder of files. `detect` and `read` then look at `source.path`, which is the
            folder or one of its files, and `write` makes a new folder.
        columns: whether `read` takes the numbers of label columns as a second argument.
    """

    name: str
    read: Callable[..., Corpus]
    detect: Callable[[Source], bool]
    write: Callable[[Corpus, Path], Sequence[Problem]] | None = None
    endings: tuple[str, ...] = ()
    folder: bool = False
    columns: bool = False

    def __post_init__(self) -> None:
        # The registry tells parts of the same name apart by their module; that of a format is its reader's.
        object.__setattr__(self, "__module__", self.read.__module__)


def list_changes(path: Path, counts: Mapping[str, int]) -> tuple[Problem, ...]:
    """What a format could not keep, as problems of the kind "changed": one for each change that was made."""
    name = display_path(path)
    return tuple(Problem("changed", f"{change}: {count}", name) for change, count in counts.items() if count)


def plain_text_changes(corpus: Corpus, ids: Iterable[str], format: str) -> dict[str, int]:
    """What a format of plain text does not keep; `ids` are those that documents are written with."""
    segmented = sum(document.words is not None or document.sentences is not None for document in corpus)
    return {
        f"{format} keeps no word and sentence boundaries; documents that had some": segmented,
        "scores not kept": count_scores(corpus),
        "document ids not kept": sum(document.id not in ("", id) for document, id in zip(corpus, ids, strict=True)),
    }


def count_scores(corpus: Corpus) -> int:
    """How many entities have a score."""
    return sum(entity.score is not None for document in corpus for entity in document.entities)


def unwritable(document: Document, reason: str, format: str, instead: str = "jsonl or brat") -> CorpusError:
    """The error for a document that a format cannot hold."""
    return CorpusError(
        f"document {excerpt(document.id)}: {reason}, which {format} cannot hold; write {instead} instead"
    )


def refuse_label(document: Document, entity: Entity, format: str, instead: str = "jsonl or brat") -> None:
    """Refuse a label that would not be read again from a line of a file."""
    if entity.label != entity.label.strip() or not entity.label or set(entity.label) & set("\t\r\n"):
        reason = f"the label {excerpt(entity.label)} is empty or holds white space"
        raise unwritable(document, reason, format, instead)
