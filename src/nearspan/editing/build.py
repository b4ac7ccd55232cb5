"""Replacing a memory on disk in one step."""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors import SafetensorError

from nearspan.corpora.atomic import sync
from nearspan.errors import EditError
from nearspan.folder import save_weights
from nearspan.memory import Memory
from nearspan.memory.journal import begin, digest, settle
from nearspan.memory.store import BASE, NEXT, SENTENCES
from nearspan.network import Network


def erase_recalled(folder: Path, network: Network) -> None:
    """Erase what the encoder of a folder's model recalls no more; only after the memory that says so is in its place.

    Until then an undo may bring it back. A crash before this leaves it for the next time: it is silent already.
    """
    if network.encoder.recall is None or network.encoder.recall.silent is None:
        return
    try:
        save_weights(network, folder)
    except (OSError, SafetensorError) as error:
        raise EditError(f"cannot write the weights to {folder}: {error}; build the memory again") from error
    sync(folder)


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
