"""The files of a memory: their names, a journal of edits that can be trusted, and the manifest that vouches for it.

A line of `journal.jsonl` is an edit. Its last key, `chain`, is a digest of the line before it, back to the memory that
the edits belong to, and of all else in the line. `memory.json`, the manifest, names that memory, says how many edits
were acknowledged, and has the digest of the last of them. A line that was changed, moved, left out, put in, or cut off
is seen, and so is a journal that is not this memory's.

An edit is written in this order, by whoever has the folder's lock:

1. its line is appended to the journal, and the journal is synced;
2. a manifest that counts it is written beside the old one and synced; 3. it takes the old one's name.

Then the edit is acknowledged. What a crash leaves:

- in step 1: the manifest counts the edits before. What follows their lines is this line, whole or in part: whole it is
  taken, for nothing is wrong with it; else it is left out, for the manifest shows that nobody was told of it, and the
  next edit is written over it;
- in steps 2 and 3: the line is whole and lasting; the manifest is the old one or the new one. It is taken either way.
  So the name need not last for the edit to: the folder is not synced.

A reader takes the manifest first and the journal after it: a journal only grows while its manifest stays. Whatever else
is there, fewer lines than the manifest counts or others, is damage. It is refused, and `repair` says what is lost.

A new memory begins with an empty journal and a manifest of no edits. All its files are synced in a folder of their own,
`memory.new`, before that gets its name. From then on they count; they are moved to their places one by one, and until a
file has moved it is read there. A crash leaves the old memory, or the new one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearspan.errors import ModelError
from nearspan.io.atomic import copy_permissions, replace_file, sync
from nearspan.io.paths import open_regular
from nearspan.io.tensors import metadata_of

SENTENCES, VECTORS = FILES = ("memory.jsonl", "memory.safetensors")
JOURNAL, MANIFEST = "journal.jsonl", "memory.json"
ALL_FILES = (*FILES, JOURNAL, MANIFEST)
DAMAGED = "journal.damaged.jsonl"  # what a repair has put aside; it goes with the memory that it was of
NEXT = "memory.new"  # a folder in which a new memory is whole before its files move to their places
APPENDING = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # never where a link leads

_LINE = re.compile(rb'(.*), "chain": "([0-9a-f]{64})"\}', re.DOTALL)


def current_file(folder: Path, name: str) -> Path:
    """Where a file of a folder's memory is: in its place, or still in that of a memory which takes over."""
    new = folder / NEXT / name
    return new if new.exists() else folder / name


def base_of(folder: Path) -> str:
    """What names the memory that edits belong to: the digests that stand beside its vectors, its sentences' too."""
    return sha256(json.dumps(metadata_of(current_file(folder, VECTORS)), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a memory's journal, apart from the journal."""

    base: str  # names the memory
    chain: str  # the digest of the last edit that was acknowledged; the base where there is none
    edits: int = 0  # that were acknowledged
    built: bool = False  # after the training, by `memory build`

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest; an error where it is none."""
        with open_regular(path) as file:
            content = file.read()
        try:
            manifest = cls(**json.loads(content))
            types = tuple(type(value) for value in asdict(manifest).values())
            if types != (str, str, int, bool) or manifest.edits < 0 or not (manifest.base + manifest.chain).isascii():
                raise TypeError("its values are of other kinds than they should be")
            return manifest
        except (ValueError, TypeError, RecursionError) as error:
            raise ModelError(f"{path} is damaged: {error}. {_advice(path.parent)}") from error


@dataclass(slots=True)
class Journal:
    """The journal of the memory in a folder, as it was last read or written."""

    folder: Path
    manifest: Manifest  # counts all lines
    lines: list[bytes]  # of the edits when it was read
    size: int  # bytes up to the end of the last edit

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The edits' lines; an error where they are not as they were written."""
        try:
            manifest = Manifest.read(current_file(folder, MANIFEST))
            with open_regular(path := current_file(folder, JOURNAL)) as file:
                content = file.read()
        except OSError as error:
            reason = f"cannot read {error.filename or folder}: {error.strerror}"
            raise ModelError(f"{reason}. {_advice(folder)}") from error
        lines, chains = intact_lines(content, manifest.base)
        size = sum(len(line) + 1 for line in lines)
        problem = ""
        if len(lines) < manifest.edits:
            problem = f"of {manifest.edits} edits only the first {len(lines)} are as they were written"
        elif chains[manifest.edits] != manifest.chain:
            problem = f"line {manifest.edits} is not the edit that {MANIFEST} knows"
        elif not _is_torn(content[size:]):
            problem = f"line {len(lines) + 1} is no edit that was written here"
        if problem:
            raise ModelError(f"{path} is damaged: {problem}. {_advice(folder)}")
        return cls(folder, replace(manifest, edits=len(lines), chain=chains[-1]), lines, size)

    def append(self, content: Mapping[str, Any]) -> None:
        """Write an edit; when this returns it is on disk for good. Only with the lock, and all that is there read."""
        body = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")[:-1]
        chain = sha256(self.manifest.chain.encode() + body).hexdigest()
        manifest = replace(self.manifest, edits=self.manifest.edits + 1, chain=chain)
        line = b'%s, "chain": "%s"}\n' % (body, chain.encode())
        descriptor = os.open(self.folder / JOURNAL, APPENDING)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:  # what fails must not be written later
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size < self.size:
                raise ModelError(f"{self.folder / JOURNAL} is not what it was when it was read")
            try:
                if status.st_size != self.size:  # what a crash has left of a line goes for good first
                    file.truncate(self.size)
                    os.fsync(descriptor)
                file.seek(self.size)
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(descriptor)
                replace_file(self.folder / MANIFEST, [json.dumps(asdict(manifest)).encode()])
            except OSError:  # a full disk: the line may be there in part, and the manifest does not count it
                with suppress(OSError):
                    file.truncate(self.size)
                    os.fsync(descriptor)
                raise
        self.manifest, self.size = manifest, self.size + len(line)


def write_journal(folder: Path, lines: Sequence[bytes] = (), built: bool = False) -> None:
    """A journal of lines that belong to the memory in a folder, and its manifest; for good, as is all in the folder."""
    content = b"".join(line + b"\n" for line in lines)
    base = base_of(folder)
    intact, chains = intact_lines(content, base)
    replace_file(folder / JOURNAL, [content])
    copy_permissions(folder / JOURNAL, folder / SENTENCES)
    manifest = Manifest(base, chains[-1], len(intact), built)
    replace_file(folder / MANIFEST, [json.dumps(asdict(manifest)).encode()])
    sync(folder)


def intact_lines(content: bytes, base: str) -> tuple[list[bytes], list[str]]:
    """The lines of a journal up to the first that is not as it was written; and their digests, the base's first."""
    lines, chains = list[bytes](), [base]
    for line in content.split(b"\n")[:-1]:
        match = _LINE.fullmatch(line)
        if match is None or match[2].decode() != sha256(chains[-1].encode() + match[1]).hexdigest():
            break
        lines.append(line)
        chains.append(match[2].decode())
    return lines, chains


def finish_swap(folder: Path) -> None:
    """Move a memory that a build has finished from its own folder to its place; every step leaves it readable."""
    new = folder / NEXT
    for name in ALL_FILES:
        if (new / name).exists():
            copy_permissions(new / name, folder / (SENTENCES if name == JOURNAL else name))
            (new / name).replace(folder / name)
    (folder / DAMAGED).unlink(missing_ok=True)
    sync(folder)
    new.rmdir()


def clear_memory(folder: Path) -> None:
    """Leave no memory and no journal in a folder."""
    for place in (folder / NEXT, folder):
        for name in (*ALL_FILES, DAMAGED):
            (place / name).unlink(missing_ok=True)
    if (folder / NEXT).is_dir():
        (folder / NEXT).rmdir()


def _is_torn(rest: bytes) -> bool:
    """Whether this may be what a crash left of one line: cut off, or with blocks in it that were never written."""
    return b"\n" not in rest or (rest.index(b"\n") == len(rest) - 1 and b"\0" in rest)


def _advice(folder: Path) -> str:
    return (
        f"Put back sound copies of {JOURNAL} and {MANIFEST}, or see with `nearspan memory {folder} repair` which edits "
        "can be kept"
    )
