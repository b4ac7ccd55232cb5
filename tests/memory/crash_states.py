"""A file layer that remembers what was made lasting, and gives the states in which a crash may leave a folder.

`Recorder` follows the folder while something is written in it: new content of a file, new and changed names, and each
fsync. After every step `crash_states` lets the power fail:

- content that was written since a file's last fsync is there, is not, or is there in part: its first half, or its
  second half with zeros before it;
- names that were made, changed or removed since their folder's last fsync are so, or still as they were, each apart.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

FOLDER = None  # what a folder has for content
Tree = dict[str, bytes | None]  # content by path, in the folder


@dataclass
class Recorder:
    """The steps in which a folder was written, as tuples of what was done."""

    folder: Path
    steps: list[tuple] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  # files by path, numbered as they were made
    content: dict[int, bytes | None] = field(default_factory=dict)  # by file
    inodes: dict[int, int] = field(default_factory=dict)  # files by inode, which the system gives again

    def __post_init__(self) -> None:
        self.look()
        self.begin = (dict(self.names), dict(self.content))
        self.steps.clear()

    def look(self) -> None:
        """Find what was written and which files are new since the last look."""
        for path in sorted(self.folder.rglob("*")):
            if path.name.endswith(".lock"):
                continue
            name, status = str(path.relative_to(self.folder)), path.lstat()
            content = FOLDER if path.is_dir() else path.read_bytes()
            if name not in self.names or self.names[name] != self.inodes[status.st_ino]:
                self.names[name] = self.inodes[status.st_ino] = number = len(self.content)
                self.content[number] = FOLDER if path.is_dir() else b""
                self.steps.append(("create", name, number, self.content[number]))
            if self.content[number := self.names[name]] != content:
                self.content[number] = content
                self.steps.append(("write", number, content))

    def acknowledge(self) -> None:
        """What was asked for is done, as far as the caller knows."""
        self.look()
        self.steps.append(("done",))

    @contextmanager
    def following(self, monkeypatch) -> Iterator[None]:
        """Follow all calls of this process."""

        def name_of(path: object) -> str | None:
            full = Path.cwd() / os.fsdecode(path)
            return str(full.relative_to(self.folder)) if full.is_relative_to(self.folder) else None

        def follow(kind: str, call):
            def called(*arguments, **options):
                self.look()
                result = call(*arguments, **options)
                if kind == "fsync":
                    inode = os.fstat(arguments[0]).st_ino
                    self.steps.append(("fsync", -1 if inode == self.folder.stat().st_ino else self.inodes.get(inode)))
                elif (
                    options.get("dir_fd") is None
                    and (names := [name_of(path) for path in arguments[: 1 + (kind == "rename")]])[0]
                ):
                    self.move(*names) if kind == "rename" else self.names.pop(names[0], None)
                    self.steps.append((kind, *names))
                else:
                    gone = [name for name in self.names if not (self.folder / name).exists()]
                    self.steps += [("remove", name) for name in gone if self.names.pop(name)]
                return result

            return called

        with monkeypatch.context() as patched:
            kinds = {"fsync": "fsync", "replace": "rename", "rename": "rename", "unlink": "remove", "rmdir": "remove"}
            for call, kind in kinds.items():
                patched.setattr(os, call, follow(kind, getattr(os, call)))
            yield
        self.look()

    def move(self, source: str, target: str) -> None:
        """Change a name, and those of all that is in a folder."""
        move(self.names, source, target)


def move(names: dict[str, int], source: str, target: str) -> None:
    for name in [name for name in names if name == source or name.startswith(f"{source}/")]:
        names[target + name[len(source) :]] = names.pop(name)


def crash_states(recorder: Recorder, seed: int = 0, most: int = 40) -> Iterator[tuple[int, Tree]]:
    """States that a crash may leave: how many acknowledgements there were, and what the folder holds.

    After each step they are all, or where there are more than `most` so many, chosen by chance.
    """
    chance = random.Random(seed)
    names, lasting = recorder.begin
    names, lasting, current = dict(names), dict(lasting), dict(lasting)
    pending: list[tuple] = []  # changes of names that may be lost
    seen: set[tuple[int, str]] = set()
    done = 0
    for step in recorder.steps:
        kind, *what = step
        if kind == "write":
            current[what[0]] = what[1]
        elif kind == "fsync":
            folders = {number: name for name, number in _after(names, pending).items() if current[number] is FOLDER}
            place = {**folders, -1: "."}.get(what[0])
            if place is None and what[0] in current:
                lasting[what[0]] = current[what[0]]
            elif place is not None:
                kept = [change for change in pending if _folder(change) == place]
                names, pending = _after(names, kept), [change for change in pending if _folder(change) != place]
        elif kind == "done":
            done += 1
        else:
            # a file that has got another name is there, whether its first name lasted or not
            number = _after(names, pending).get(what[0]) if kind == "rename" else None
            is_file = number is not None and current[number] is not FOLDER
            pending.append((*step, number) if is_file else step)
            if kind == "create":
                current[what[1]] = lasting[what[1]] = what[2]
        unsynced = [number for number in current if current[number] != lasting[number]]
        choices = list(product((True, False), repeat=min(len(pending), 10)))
        parts = list(product(range(4), repeat=len(unsynced)))
        states = list(product(choices, parts))
        for chosen, torn in states if len(states) <= most else [states[0], states[-1], *chance.sample(states, most)]:
            kept = [change for change, keep in zip(pending[-10:], chosen, strict=True) if keep]
            files = _after(_after(names, pending[:-10]), kept)
            content = current | {
                number: _torn(lasting[number] or b"", current[number] or b"", how)
                for number, how in zip(unsynced, torn, strict=True)
            }
            tree = {name: content[number] for name, number in sorted(files.items())}
            key = (done, hashlib.sha256(repr(tree).encode()).hexdigest())
            if key not in seen:
                seen.add(key)
                yield done, tree


def put(tree: Tree, folder: Path) -> Path:
    """Write a state to an empty folder."""
    for name, content in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True) if content is FOLDER else path.write_bytes(content)
    return folder


def _folder(change: tuple) -> str:
    return str(Path(change[2] if change[0] == "rename" else change[1]).parent)


def _after(names: dict[str, int], changes: list[tuple]) -> dict[str, int]:
    names = dict(names)
    for kind, name, *rest in changes:
        if kind == "create":
            names[name] = rest[0]
        elif kind == "rename" and rest[1:]:
            names.pop(name, None)
            names[rest[0]] = rest[1]
        elif kind == "rename":
            move(names, name, rest[0])
        else:
            names.pop(name, None)
    return names


def _torn(before: bytes, after: bytes, how: int) -> bytes:
    """What is on disk of new content: all, nothing, the first half of what is new, or the second after zeros."""
    if how < 2:
        return before if how else after
    same = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    middle = (same + len(after)) // 2
    return after[:middle] if how == 2 else after[:same] + bytes(middle - same) + after[middle:]
