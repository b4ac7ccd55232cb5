"""Errors as the command line shows them: in one line, with options where those of Python have arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nearspan.cli.terminal import output_fails
from nearspan.errors import NearspanError
from nearspan.io.paths import display_path

GPU_FULL = (
    "the GPU's memory is full. End what else uses it, lower a budget_mb (representation, head; a training goes on with "
    "--resume), or begin anew with a lower training.batch or suggester.max_width, or with --device cpu"
)

_ARGUMENT = re.compile(r"`([a-z_]+)`")


@contextmanager
def name_options(options: Mapping[str, str]) -> Iterator[None]:
    """Put options in the place of the arguments that errors name, such as --resume for `resume`."""
    try:
        yield
    except NearspanError as error:
        message = _ARGUMENT.sub(lambda match: options.get(match[1], match[0]), str(error))
        if message == str(error):
            raise
        raise type(error)(message) from error


def message_of(error: Exception) -> str | None:
    """What went wrong, in one line; None for an error that is neither ours nor the system's."""
    torch = sys.modules.get("torch")  # where torch was not needed nothing is on a GPU
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return GPU_FULL
    if not isinstance(error, OSError):
        return str(error) if isinstance(error, NearspanError) else None
    reason = error.strerror or str(error)
    if output_fails():
        return f"standard output cannot be written: {reason}"
    return reason if error.filename is None else f"{display_path(str(error.filename))}: {reason}"
