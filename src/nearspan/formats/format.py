"""What a format is: how it is recognised, read and written, and what is said of what it cannot hold."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats.corpus import Corpus, Problem, clean_label, excerpt
from nearspan.formats.source import Source
from nearspan.io.paths import display_path

if TYPE_CHECKING:
    from nearspan.formats.document_stream import Block, Readable

LEFT_OUT = "entities left out"
ATTRIBUTES = "entities whose attributes are not kept"


@dataclass(frozen=True)
class Format:
    """A way to keep a corpus. A package of your own adds one by registering it:

        nearspan.register("format", Format("tei", read_tei, is_tei, write_tei, endings=(".tei",)))

    Then `nearspan.read`, `write`, `check` and `convert` know it by its name, by its content and by its ending.

    Args:
        name: what users call it.
        read: yields a `Draft` for each document of a file, or gives all of it as a corpus. What is wrong in the file
            goes into `Source.problems`, or `Corpus.problems`. It says by `Source.count` how many annotations the file
            holds; the file is refused if some of them are neither entities nor the `lost` of a problem. A format that
            yields is read as a stream: let it take the lines from `Source.blocks`.
        detect: whether a file is of this format, by its `Source.sample`. It is also given files of other formats.
        write: writes documents, in one step (`nearspan.io.atomic.write_file`), and returns what it could not keep.
            An entity that it cannot keep is a CorpusError. None: the format is only read.
        endings: of the files that are written in this format if none is named.
        folder: whether a corpus is a folder of files. `detect` and `read` then look at `source.path`, which is the
            folder or one of its files, and `write` makes a new folder.
        columns: whether `read` takes the numbers of label columns as a second argument.
        discontinuous: whether discontinuous entities can be written.
        nested: whether entities that share characters can be written.
        binary: whether a file is no text. `detect` then looks at `source.first_bytes`, and is asked first.
        streams: whether `write` takes the documents of its first argument once and one after another. It is then given
            a `Stream`, which may be of millions, and else a corpus.
    """

    name: str
    read: Callable[..., "Corpus | Iterable[Readable | Block]"]
    detect: Callable[[Source], bool]
    write: Callable[[Any, Path], Sequence[Problem]] | None = None
    endings: tuple[str, ...] = ()
    folder: bool = False
    columns: bool = False
    discontinuous: bool = True
    nested: bool = True
    binary: bool = False
    streams: bool = False

    def __post_init__(self) -> None:
        # The registry tells parts of the same name apart by their module; that of a format is its reader's.
        object.__setattr__(self, "__module__", self.read.__module__)


def ending(path: Path) -> str:
    """What a file's name says of its format, whether it is compressed or not.

    >>> ending(Path("news.CONLL.gz")), ending(Path("news.json"))
    ('.conll', '.json')
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


def refuse_loss(corpus: Corpus, source: Source) -> Corpus:
    """The corpus of a source; an error if its entities and what its problems say was lost are not what was counted."""
    check_sum(corpus.entity_count, corpus.problems, source, corpus.format)
    return corpus


def check_sum(entities: int, problems: Iterable[Problem], source: Source, format: str) -> None:
    """An error if the entities of a source and what its problems say was lost are not what was counted."""
    lost = sum(problem.lost for problem in problems)
    if source.annotations != entities + lost:
        raise CorpusError(
            f"{source.name} holds {source.annotations:,} annotations, of which {entities:,} were read and "
            f"{lost:,} listed as problems; these do not add up, so nothing is read: the reader of "
            f"{format or 'its format'} has a fault, please report it"
        )


def list_changes(path: Path, counts: Mapping[str, int]) -> tuple[Problem, ...]:
    """What a format could not keep, as problems of the kind "changed": one for each change that was made.

    Changes that begin with `LEFT_OUT` have cost as many entities.
    """
    name = display_path(path)
    return tuple(
        Problem("changed", f"{change}: {count}", name, lost=count if change.startswith(LEFT_OUT) else 0)
        for change, count in counts.items()
        if count
    )


def count_changes(
    documents: Iterable[Document], changes: Counter[str], changes_of: Callable[[Document], Mapping[str, int]]
) -> Iterator[Document]:
    """The documents, while it is counted what a format does not keep of each as it is written.

    >>> changes = Counter()
    >>> [document.text for document in count_changes([Document("Oslo")], changes, lambda _: {"scores not kept": 1})]
    ['Oslo']
    >>> changes["scores not kept"]
    1
    """
    for document in documents:
        changes.update(changes_of(document))
        yield document


def plain_text_changes(
    corpus: Sequence[Document], ids: Iterable[str], format: str, keeps: Callable[[str, Any], bool] | None = None
) -> dict[str, int]:
    """What a format of plain text does not keep; `ids` are those that documents are written with.

    `keeps` says which attributes the format has a place for, by name and value.
    """
    segmented = sum(document.words is not None or document.sentences is not None for document in corpus)
    return {
        f"{format} keeps no word and sentence boundaries; documents that had some": segmented,
        "scores not kept": count_scores(corpus),
        ATTRIBUTES: count_attributes(corpus, keeps),
        "document ids not kept": sum(document.id not in ("", id) for document, id in zip(corpus, ids, strict=True)),
    }


def count_scores(corpus: Iterable[Document]) -> int:
    """How many entities have a score."""
    return sum(entity.score is not None for document in corpus for entity in document.entities)


def count_attributes(corpus: Iterable[Document], keeps: Callable[[str, Any], bool] | None = None) -> int:
    """How many entities have attributes, or such as a format does not keep."""
    return sum(
        any(keeps is None or not keeps(name, value) for name, value in entity.attributes.items())
        for document in corpus
        for entity in document.entities
    )


def unwritable(document: Document, reason: str, format: str, instead: str = "jsonl or brat instead") -> CorpusError:
    """The error for a document that a format cannot hold."""
    return CorpusError(f"document {excerpt(document.id)}: {reason}, which {format} cannot hold; write {instead}")


def refuse_entities(document: Document, format: str, *, discontinuous: bool = False) -> None:
    """Refuse entities that would not be read again from a line of a file."""
    for entity in document.entities:
        if entity.span.discontinuous and not discontinuous:
            instead = "jsonl or brat instead, or say with `unfit` what becomes of such entities"
            raise unwritable(document, f"the entity {excerpt(entity.text)} is discontinuous", format, instead)
        if not _fits_on_a_line(entity.label):
            reason = f"the label {excerpt(entity.label)} is empty, has blanks at its ends, or holds a tab or a line end"
            raise unwritable(document, reason, format, "jsonl instead")


@lru_cache(maxsize=4096)  # files hold few different labels, each many times
def _fits_on_a_line(label: str) -> bool:
    return label != "" and label == clean_label(label) and set(label).isdisjoint("\t\r\n")
