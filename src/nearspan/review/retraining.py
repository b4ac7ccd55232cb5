"""Training again while a review goes on, and the swap to the model that comes of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from nearspan.errors import ModelError, NearspanError, first_line
from nearspan.io.atomic import sync
from nearspan.memory.carry_edits import carry_edits
from nearspan.memory.lock import lock_memory
from nearspan.review.leases import LEASES

NEXT, BEFORE = ".next", ".before"  # what follows the folder's name: the model that is trained, and the one it replaced


class Retraining:
    """A training from a model and its memory, by a process of its own; the folder itself is only read.

    The new model gets the folder's name in two steps, and the old one is kept beside it. Until then it is the old
    model's journal that answers go to, and what came to it during the training is carried over before.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.next, self.before = (self.folder.with_name(self.folder.name + ending) for ending in (NEXT, BEFORE))
        shutil.rmtree(self.next, ignore_errors=True)  # of a training that nobody has waited for
        self._refusal = ""  # why the trained model cannot take over
        self._log: IO[bytes] = TemporaryFile()  # noqa: SIM115 - open as long as the process
        command = [sys.executable, "-m", "nearspan", "--quiet", "train", "--from", str(self.folder)]
        if nice := shutil.which("nice"):
            command = [nice, "-n", "5", *command]  # people wait for answers meanwhile
        self._process = subprocess.Popen(
            [*command, "--out", str(self.next)], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended."""
        self._process.wait(seconds)

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self._process.poll() is None

    @property
    def failure(self) -> str:
        """What went wrong, where something did."""
        if self.is_running or self._process.returncode == 0:
            return self._refusal
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else f"it ended with code {self._process.returncode}"

    def swap(self) -> bool:
        """Put the trained model in the place of the old one, with all edits made since; nobody edits meanwhile.

        Where that cannot be, the old one stays as it is, and `failure` says why.
        """
        with lock_memory(self.folder):
            try:
                carry_edits(self.folder, self.next)
                with suppress(FileNotFoundError):
                    shutil.copy2(self.folder / LEASES, self.next / LEASES)
                shutil.rmtree(self.before, ignore_errors=True)
                self.folder.rename(self.before)
                try:
                    self.next.rename(self.folder)
                except OSError:
                    self.before.rename(self.folder)
                    raise
                sync(self.folder.parent)
            except (NearspanError, OSError) as error:
                self._refusal = f"its model cannot take over: {first_line(error)}"
        return not self._refusal

    def stop(self) -> None:
        """End it, and remove what it has written."""
        if self.is_running:
            self._process.terminate()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self.next, ignore_errors=True)


def finish_swap(folder: Path) -> None:
    """Do the second step of a swap that a crash has interrupted after the first."""
    place = folder.resolve()
    trained, before = (place.with_name(place.name + ending) for ending in (NEXT, BEFORE))
    if place.exists() or not (trained.is_dir() and before.is_dir()):
        return
    try:
        trained.rename(place)
        sync(place.parent)
    except OSError as error:
        raise ModelError(f"{trained} takes the place of {place}, and cannot be renamed: {error.strerror}") from error
