"""Files of tensors that are written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

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
