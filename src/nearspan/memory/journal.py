"""The journal: every edit of a memory is one line, written whole and lasting before it counts.

`journal.jsonl` stands beside the memory's own files, which no edit touches. Its first line names the memory that it
belongs to; a journal of another memory is no journal of this one. What follows the last line break was cut off by a
crash: readers leave it out and the next writer cuts it away. So a crash at any point leaves the memory as it was
before the edit, or as it is after it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from nearspan.errors import EditError, ModelError
from nearspan.io.atomic import copy_permissions, sync
from nearspan.io.model_folder import file_digest
from nearspan.knn.storage import FILES, JOURNAL, NEXT, NO_MEMORY, SENTENCES, current_file
from nearspan.memory.edits import Edit

LOCK = "journal.lock"
FORMAT = 3
PATIENCE = 60.0  # seconds to wait for another editor


class Journal:
    """The journal of the memory in a model folder."""

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self.folder = folder
        self.patience = patience
        self.lock = FileLock(folder / LOCK, timeout=patience, thread_local=False)
        self._base = ""  # what names the memory that edits belong to: a digest of its sentences
        self._size = -1  # bytes up to the end of the last edit, when they were last read; 0: there is no journal

    def state(self) -> tuple[object, ...]:
        """Changes whenever the memory or its journal has changed on disk; cheap."""
        state: list[object] = []
        for name in (*FILES, JOURNAL):
            try:
                status = current_file(self.folder, name).stat()
                state.append((status.st_ino, status.st_size, status.st_mtime_ns))
            except OSError:
                state.append(None)
        return tuple(state)

    def read(self) -> list[Edit]:
        """All edits of the memory that is there, those undone too."""
        try:
            self._base = file_digest(current_file(self.folder, SENTENCES))
        except OSError as error:
            raise ModelError(f"{self.folder} has no memory ({error.strerror}): {NO_MEMORY}") from error
        try:
            content = current_file(self.folder, JOURNAL).read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise ModelError(f"cannot read {self.folder / JOURNAL}: {error.strerror}") from error
        content = content[: content.rfind(b"\n") + 1]  # what a crash left behind the last line break is left out
        self._size = 0
        if not content:
            return []
        first, *lines = content.split(b"\n")[:-1]
        try:
            head = json.loads(first)
            if head["journal"] != FORMAT:
                raise ValueError(f"it is in format {head['journal']!r}, this nearspan reads format {FORMAT}")
            if head["base"] != self._base:
                return []
            self._size = len(content)
            return [Edit.from_line(json.loads(line)) for line in lines]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{self.folder / JOURNAL} is damaged: {error}; without it the memory is as it was before all edits"
            ) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The only editor of this folder for a while; what a build has left half moved is put in its place."""
        try:
            with self.lock:
                if (self.folder / NEXT).is_dir():
                    finish_swap(self.folder)
                yield
        except Timeout:
            raise EditError(f"another editor has held {self.folder} for {self.patience:g} s: try again later") from None
        except OSError as error:
            raise EditError(f"cannot edit the memory in {self.folder}: {error.strerror or error}") from error

    def append(self, edit: Edit) -> None:
        """Write an edit; when this returns it is on disk for good. Only while `locked`, with all that is there read."""
        if self._size < 0:
            self.read()
        line = (json.dumps(asdict(edit), ensure_ascii=False) + "\n").encode("utf-8")
        if not self._size:  # no journal, or that of another memory
            self._size = begin_journal(self.folder, self._base, line)
            return
        with (self.folder / JOURNAL).open("r+b", buffering=0) as file:  # what fails must not be written later
            file.truncate(self._size)
            file.seek(self._size)
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:  # a full disk: the line may be there in part
                with suppress(OSError):
                    file.truncate(self._size)
                raise
        self._size += len(line)


def begin_journal(folder: Path, base: str, edit: bytes = b"") -> int:
    """Write a new journal in one step, with the line of a first edit; how many bytes it has."""
    content = json.dumps({"journal": FORMAT, "base": base}).encode() + b"\n" + edit
    beside = folder / f".{JOURNAL}.new"
    with beside.open("wb") as file:
        copy_permissions(beside, folder / SENTENCES)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / JOURNAL)
    sync(folder)
    return len(content)


def finish_swap(folder: Path) -> None:
    """Move a memory that a build has finished from its own folder to its place; every step leaves it readable."""
    new = folder / NEXT
    for name in (*FILES, JOURNAL):
        if (new / name).exists():
            copy_permissions(new / name, folder / (SENTENCES if name == JOURNAL else name))
            (new / name).replace(folder / name)
    sync(folder)
    new.rmdir()
