"""What a format is: how it is recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearspan.formats.corpus import Corpus, Problem
from nearspan.formats.source import Source


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
