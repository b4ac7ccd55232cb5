"""One editor of a memory at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from nearspan.errors import EditError
from nearspan.io.memory_files import NEXT, finish_swap
from nearspan.io.model_folder import refuse_hub_cache

LOCK = "journal.lock"
PATIENCE = 60.0  # seconds to wait for another editor


@contextmanager
def lock_memory(folder: Path, patience: float = PATIENCE) -> Iterator[None]:
    """The only editor of a folder for a while; what a build has left half moved is put in its place."""
    refuse_hub_cache(folder)
    try:
        with FileLock(folder / LOCK, timeout=patience, thread_local=False):
            if (folder / NEXT).is_dir():
                finish_swap(folder)
            yield
    except Timeout:
        raise EditError(f"another editor has held {folder} for {patience:g} s: try again later") from None
    except OSError as error:
        raise EditError(f"cannot edit the memory in {folder}: {error.strerror or error}") from error
