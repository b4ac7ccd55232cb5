"""Files of tensors that are written whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from nearspan.corpora.atomic import sync


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a folder beside `path`, then put the file in its place in one step.

    If anything fails, the old file stays as it was. What a killed process leaves goes with the next writing. The file
    may be read by whom the system lets read new files; safetensors alone would let its owner only.

        save_tensors({"steps": steps}, folder / "memory.safetensors")
    """
    room = path.with_name(f".{path.name}.new")
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    try:
        scratch = room / path.name
        scratch.touch()
        mode = scratch.stat().st_mode
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, scratch, metadata)
        scratch.chmod(mode)
        sync(scratch)
        scratch.replace(path)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def metadata_of(path: Path) -> dict[str, str]:
    """What was written beside the tensors of a file; these are not read."""
    with safe_open(path, framework="pt") as file:
        return dict(file.metadata() or {})


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Sixteen hexadecimal digits that change with the names, the shapes and any bit of tensors.

    >>> digest_of({"a": torch.zeros(2)}) == digest_of({"a": torch.zeros(2)}) != digest_of({"a": torch.zeros(2, 1)})
    True
    """
    found = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()[:16]
