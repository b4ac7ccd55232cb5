"""Replacing a memory on disk in one step."""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors import SafetensorError

from nearspan.corpora.atomic import sync
from nearspan.errors import EditError
from nearspan.memory import Memory
from nearspan.memory.journal import begin, digest, settle
from nearspan.memory.store import BASE, NEXT, SENTENCES


def replace_memory(folder: Path, memory: Memory) -> None:
    """Write a memory with an empty journal in place of what the folder has; only while its journal is locked.

    The new files are whole in a folder of their own before its renaming makes them count. They are then moved one by
    one; until a file has moved, readers find it in that folder.
    """
    scratch = folder / f".{NEXT}"
    shutil.rmtree(scratch, ignore_errors=True)  # what a crash has left
    scratch.mkdir()
    try:
        memory.save(scratch)
        for name in BASE:
            sync(scratch / name)
        begin(scratch, digest(scratch / SENTENCES), [])
        scratch.rename(folder / NEXT)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(scratch, ignore_errors=True)  # it holds text, and room on a full disk
        raise EditError(f"cannot write a memory to {folder}: {error}") from error
    sync(folder)
    settle(folder)
