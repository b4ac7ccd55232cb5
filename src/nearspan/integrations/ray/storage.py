"""Files on this machine or at any address that fsspec knows; what is written is there whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from nearspan.errors import CorpusError
from nearspan.io.atomic import replace_file, sync

BLOCK = 1 << 20  # bytes that are copied at once
VERSIONS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "modified")


@dataclass(frozen=True)
class Place:
    """A file system and a path in it."""

    system: Any
    path: str

    @classmethod
    def of(cls, address: str) -> Place:
        """What an address leads to, whether it is there or not."""
        try:
            system, path = url_to_fs(address)
        except (ValueError, ImportError) as error:  # an unknown protocol, or a package that it needs
            raise CorpusError(f"{address} cannot be read: {error}") from error
        return cls(system, path.rstrip("/") or "/")

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return isinstance(self.system, LocalFileSystem)

    @property
    def address(self) -> str:
        """What leads here from any machine; a path alone where it is on this one."""
        return self.path if self.is_local else str(self.system.unstrip_protocol(self.path))

    def __truediv__(self, name: str) -> Place:
        return Place(self.system, f"{self.path}/{name}")

    def exists(self) -> bool:
        """Whether there is anything."""
        return bool(self.system.exists(self.path))

    def names(self) -> list[str]:
        """All files below, by their paths from here."""
        return sorted(str(PurePosixPath(found).relative_to(self.path)) for found in self.system.find(self.path))

    def mark(self) -> str:
        """What changes when the file does, or a file in the folder, as far as the file system knows."""
        digest = hashlib.sha256()
        for path, about in sorted(self.system.find(self.path, detail=True).items()):
            name = str(PurePosixPath(path).relative_to(self.path))
            version = next((about[key] for key in VERSIONS if about.get(key) is not None), "")
            digest.update(f"{name}\0{about.get('size')}\0{version}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def read(self) -> bytes:
        """All bytes."""
        return bytes(self.system.cat_file(self.path))

    def blocks(self) -> Iterator[bytes]:
        """The same, some at a time."""
        with self.system.open(self.path, "rb") as file:
            while block := file.read(BLOCK):
                yield block

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write a file beside the place, by a name of its own, and move it there in one step."""
        above, _, name = self.path.rpartition("/")
        self.system.makedirs(above, exist_ok=True)
        beside = f"{above}/.{name[:100]}.{uuid4().hex}"
        if self.is_local:
            replace_file(Path(self.path), pieces, Path(beside))
            sync(Path(above))
            return
        try:
            with self.system.open(beside, "wb") as file:
                file.writelines(pieces)
            self.system.mv(beside, self.path)
        except BaseException:
            if self.system.exists(beside):
                self.system.rm(beside)
            raise

    def join(self, parts: Sequence[Place]) -> None:
        """Write a file of what the parts hold, one after the other."""
        self.write(block for part in parts for block in part.blocks())

    def remove(self) -> None:
        """Remove the file, or the folder with all that is in it, if there is one."""
        if self.exists():
            self.system.rm(self.path, recursive=True)

    @contextmanager
    def on_this_machine(self) -> Iterator[Path]:
        """A path to the file or folder, which is copied here for a while if it is elsewhere."""
        if self.is_local:
            yield Path(self.path)
            return
        with TemporaryDirectory(prefix="nearspan-") as room:
            copy = Path(room) / PurePosixPath(self.path).name
            self.system.get(self.path, str(copy), recursive=bool(self.system.isdir(self.path)))
            yield copy
