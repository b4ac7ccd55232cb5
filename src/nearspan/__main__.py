"""The command `nearspan`, and `python -m nearspan`: Ctrl-C ends it with one short line, whatever it is doing."""

from __future__ import annotations

import os
import signal
from types import FrameType

STOPPED = 130  # the exit code after Ctrl-C: 128 and the signal's number


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        from nearspan.cli import main as run_command

        run_command()
    except KeyboardInterrupt:
        _stop()
    finally:
        signal.signal(signal.SIGINT, _stop)  # nothing is left to do but to end


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Ctrl-C as Python has it, but at once during an import, which may swallow it, and the second time."""
    signal.signal(signal.SIGINT, _stop)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            _stop()
        frame = frame.f_back
    raise KeyboardInterrupt


def _stop(*_: object) -> None:
    show_cursor = b"\x1b[?25h" if os.isatty(2) else b""  # a progress bar may have hidden it
    os.write(2, show_cursor + b"stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
