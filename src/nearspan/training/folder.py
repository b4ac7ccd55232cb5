"""The folder of a training or a tuning: what it may hold when one begins, and one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from nearspan.config import Recipe
from nearspan.errors import NearspanError
from nearspan.io.memory_files import ALL_FILES, JOURNAL, MANIFEST, Manifest, current_file
from nearspan.io.model_folder import CARD, CHECKPOINT, CONFIG, ENCODER, RESULT, WEIGHTS, visible_files
from nearspan.io.paths import display_path, exists, is_folder

METRICS = "metrics.jsonl"
REFUSED = (CONFIG, WEIGHTS, CARD, RESULT, CHECKPOINT, METRICS, *ALL_FILES)  # what a new run would write over


def refuse_spoiling(folder: Path, recipe: Recipe, resume: bool) -> None:
    """Refuse a folder that a training would spoil.

    Of a finished run whose memory was edited or built anew, saving the model again would bring back what was forgotten.
    """
    if resume:
        if is_folder(folder) and _was_edited(folder):
            raise NearspanError(
                f"nothing to resume in {folder}: its training is finished, and its memory was edited or built anew "
                f"since, which {JOURNAL} tells. Give another `out` to train anew"
            )
        return
    present = [name for name in REFUSED if exists(folder / name)]
    if recipe.encoder.transformer is not None and any(visible_files(folder / ENCODER)):
        present.append(f"{ENCODER}/")  # perhaps the pretrained one, where its folder was given as `out`
    if present:
        go_on = ", or `resume` to go on with it" if CHECKPOINT in present else ""
        raise NearspanError(
            f"{folder} already holds a model or a run: there is {', '.join(present)}. Give another `out`{go_on}"
        )


def _was_edited(folder: Path) -> bool:
    """Whether a memory is there that is not as its training left it."""
    journal, manifest = current_file(folder, JOURNAL), current_file(folder, MANIFEST)
    if exists(manifest) and ((known := Manifest.read(manifest)).edits or known.built):
        return True
    return exists(journal) and journal.stat().st_size > 0


def usable_folder(out: Path | str) -> Path:
    """A folder whose model could be opened again."""
    try:
        str(out).encode("utf-8")
    except UnicodeEncodeError:
        raise NearspanError(f"the name of {display_path(out)} is not UTF-8, and no model could be read there") from None
    return Path(out)


@contextmanager
def lock_folder(folder: Path, lock: str, busy: str) -> Iterator[None]:
    """Make the folder and keep a second process away from it; one that wrote nothing leaves no folder of its own."""
    new = not exists(folder)
    file_lock = FileLock(folder / lock, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file_lock.acquire()
    except Timeout:
        raise NearspanError(busy) from None
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder} or write to it: {error}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / lock).unlink(missing_ok=True)
        file_lock.release()
        if new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
