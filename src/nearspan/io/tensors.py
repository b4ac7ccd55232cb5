"""Files of tensors that are written whole or not at all, and read only as they were written."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from nearspan.errors import ModelError
from nearspan.io.atomic import copy_permissions, sync
from nearspan.io.paths import open_regular

ABOUT = "about"  # the one entry of a file's metadata, for several come in any order


def save_tensors(tensors: Mapping[str, Tensor], path: Path, about: Mapping[str, str] | None = None) -> None:
    """Write tensors to a folder beside `path`, then put the file in its place in one step.

    Their digest stands beside them, and so does what there is to say `about` them.

    If anything fails, the old file stays as it was. What a killed process leaves goes with the next writing. The file
    may be read by those who may read the old one, or new files; safetensors alone would let its owner only.

        save_tensors({"steps": steps}, folder / "memory.safetensors")
    """
    room = path.with_name(f".{path.name}.new")
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    try:
        scratch = room / path.name
        scratch.touch()
        copy_permissions(scratch, path)
        mode = scratch.stat().st_mode
        content = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(content, scratch, {ABOUT: json.dumps({**(about or {}), "digest": digest_of(content)})})
        scratch.chmod(mode)
        sync(scratch)
        scratch.replace(path)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read what `save_tensors` wrote; an error where any bit of the tensors has changed since."""
    open_regular(path).close()
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest = _about(file).get("digest")
    if digest_of(tensors) != digest:
        raise ModelError(f"{path} is damaged: its tensors are not as they were written; put back a sound copy of it")
    return tensors


def metadata_of(path: Path) -> dict[str, str]:
    """What was written beside the tensors of a file, their digest included; these are not read."""
    open_regular(path).close()
    with safe_open(path, framework="pt") as file:
        return _about(file)


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Sixteen hexadecimal digits that change with the names, the shapes and any bit of tensors.

    >>> digest_of({"a": torch.zeros(2)}) == digest_of({"a": torch.zeros(2)}) != digest_of({"a": torch.zeros(2, 1)})
    True
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def _about(file: Any) -> dict[str, str]:
    return dict(json.loads((file.metadata() or {}).get(ABOUT, "{}")))
