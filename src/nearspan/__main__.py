"""The command `nearspan`, and `python -m nearspan`: Ctrl-C ends it with one short line, whatever it is doing.

The handler is in its place before anything else is imported. As long as no command runs, it ends the process there and
then. A command gets a `KeyboardInterrupt` and tidies up; if a library throws that away, the process ends all the same.
"""

from __future__ import annotations

import os
import sys

STOPPED = 130  # the exit code after Ctrl-C: 128 and the signal's number


def _stop(*_: object) -> None:
    """End the process at once."""
    show_cursor = b"\x1b[?25h" if os.isatty(2) else b""  # a progress bar may have hidden it
    try:
        os.write(2, show_cursor + b"stopped\n")
    finally:  # standard error may be closed
        os._exit(STOPPED)


try:
    import signal

    signal.signal(signal.SIGINT, _stop)
except KeyboardInterrupt:
    _stop()

TYPE_CHECKING = False  # as in `typing`, which takes its time to import
if TYPE_CHECKING:
    from types import FrameType

INTERVAL = 0.1  # seconds between two looks at what became of Ctrl-C
PATIENCE = 5  # looks until an import is cut short


class CtrlC:
    """What Ctrl-C does while a command runs: one `KeyboardInterrupt`. A second Ctrl-C ends the process at once.

    In an import nothing is raised, for packages swallow it there or crash: it comes when the import ends, and an import
    that takes long is cut short.
    """

    def __init__(self) -> None:
        self.interrupt: KeyboardInterrupt | None = None  # what was raised
        self.looks = 0
        self.running = True

    def handle(self, _: int, frame: FrameType | None) -> None:
        """Answer the signal."""
        signal.signal(signal.SIGINT, _stop)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self.look)
            signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
        else:  # Windows
            self.looks = PATIENCE
        self.look(0, frame)

    def look(self, _: int, frame: FrameType | None) -> None:
        """See that the command ends: it gets the exception, and ends as long as that is being handled."""
        self.looks += 1
        if self.interrupt is not None:
            if not self._is_handled():
                _stop()
        elif self.running and not _is_import(frame):
            self.interrupt = KeyboardInterrupt()
            raise self.interrupt
        elif not self.running or self.looks > PATIENCE:
            _stop()

    def _is_handled(self) -> bool:
        error = sys.exception()
        while error is not None and error is not self.interrupt:
            error = error.__context__
        return error is not None

    def close(self) -> None:
        """Nothing is left to do but to end, at once where Ctrl-C still waits for an import."""
        signal.signal(signal.SIGINT, _stop)
        if self.looks and self.interrupt is None:
            _stop()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Run the command line."""
    from nearspan.cli import main as run_command

    ctrl_c = CtrlC()
    sys.unraisablehook = _stop_if_lost
    try:
        try:
            signal.signal(signal.SIGINT, ctrl_c.handle)
            run_command()
        finally:
            ctrl_c.running = False  # nothing is raised below
    except BaseException as error:
        reported = isinstance(error, SystemExit) and error.code == STOPPED
        if ctrl_c.interrupt is not None and not reported:  # tidying up failed, or a library made another error of it
            _stop()
        raise
    finally:
        ctrl_c.close()


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _stop_if_lost(unraisable: sys.UnraisableHookArgs) -> None:
    """End where Ctrl-C came in a place that can raise nothing, such as a destructor."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _stop()
    sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
