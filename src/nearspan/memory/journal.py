"""The journal: every edit of a memory is one line, written whole and lasting before it counts.

`journal.jsonl` stands beside the memory's own files, which no edit touches. Its first line names the memory that it
belongs to; a journal of another memory is no journal of this one. What follows the last line break was cut off by a
crash: readers leave it out and the next writer cuts it away. So a crash at any point leaves the memory as it was
before the edit, or as it is after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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

    def base(self) -> str:
        """What names the memory that edits belong to: a digest of its sentences."""
        try:
            return file_digest(current_file(self.folder, SENTENCES))
        except OSError as error:
            raise ModelError(f"{self.folder} has no memory ({error.strerror}): {NO_MEMORY}") from error

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
        content = self._complete_lines()
        if not content:
            return []
        lines = content.split(b"\n")[:-1]
        try:
            if not self._belongs_here(lines[0]):
                return []
            return [Edit.from_line(json.loads(line)) for line in lines[1:]]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{self.folder / JOURNAL} is damaged: {error}; without it the memory is as it was before all edits"
            ) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The only editor of this folder for a while; what a build has left half moved is put in its place."""
        try:
            with self.lock:
                finish_swap(self.folder)
                yield
        except Timeout:
            raise EditError(f"another editor has held {self.folder} for {self.patience:g} s: try again later") from None
        except OSError as error:
            raise EditError(f"cannot edit the memory in {self.folder}: {error.strerror or error}") from error

    def append(self, edit: Edit) -> None:
        """Write an edit; when this returns it is on disk for good. Only while `locked`."""
        line = _line(edit.to_line())
        path = self.folder / JOURNAL
        content = self._complete_lines()
        if not content or not self._belongs_here(content.split(b"\n", 1)[0]):  # none, or of another memory
            begin_journal(self.folder, self.base(), [line])
            return
        with path.open("r+b", buffering=0) as file:  # what fails must not be written later
            file.truncate(len(content))
            file.seek(len(content))
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:  # a full disk: the line may be there in part
                with suppress(OSError):
                    file.truncate(len(content))
                raise

    def _complete_lines(self) -> bytes:
        """The journal up to its last line break; what a crash left behind it is left out."""
        try:
            content = current_file(self.folder, JOURNAL).read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise ModelError(f"cannot read {self.folder / JOURNAL}: {error.strerror}") from error
        return content[: content.rfind(b"\n") + 1]

    def _belongs_here(self, line: bytes) -> bool:
        head = json.loads(line)
        if head["journal"] != FORMAT:
            raise ValueError(f"it is in format {head['journal']!r}, this nearspan reads format {FORMAT}")
        return bool(head["base"] == self.base())


def begin_journal(folder: Path, base: str, lines: list[bytes]) -> None:
    """Write a new journal in one step."""
    beside = folder / f".{JOURNAL}.new"
    with beside.open("wb") as file:
        copy_permissions(beside, folder / SENTENCES)
        file.writelines([_line({"journal": FORMAT, "base": base}), *lines])
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / JOURNAL)
    sync(folder)


def finish_swap(folder: Path) -> None:
    """Move a memory that a build has finished from its own folder to its place; every step leaves it readable."""
    new = folder / NEXT
    if not new.is_dir():
        return
    for name in (*FILES, JOURNAL):
        if (new / name).exists():
            copy_permissions(new / name, folder / (SENTENCES if name == JOURNAL else name))
            (new / name).replace(folder / name)
    sync(folder)
    new.rmdir()


def _line(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8")
