"""Leases: who has which text at the moment, for all processes that review with one model folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time

from filelock import FileLock, Timeout

from nearspan.errors import EditError
from nearspan.io.atomic import replace_file

LEASES, LOCK = "review.json", "review.lock"
PATIENCE = 10.0  # seconds to wait for another process, which needs milliseconds


@dataclass(frozen=True, slots=True)
class Lease:
    """A text that a reviewer has until some time; then others may have it."""

    reviewer: str
    until: float  # seconds since 1970: several processes compare it


@contextmanager
def leases(folder: Path) -> Iterator[dict[str, Lease]]:
    """The leases that have not ended, by text: to be read and changed by one process at a time.

    No answer hangs on them. Where the file is lost or damaged, two reviewers may get one text, and the first answer
    counts.
    """
    path = folder / LEASES
    try:
        with FileLock(folder / LOCK, timeout=PATIENCE, thread_local=False):
            before = _read(path)
            now = time()
            current = {text: lease for text, lease in before.items() if lease.until > now}
            yield current
            if current != before:
                content = {text: [lease.reviewer, lease.until] for text, lease in current.items()}
                replace_file(path, [json.dumps(content).encode()])
    except Timeout:
        raise EditError(f"another process has held {folder / LOCK} for {PATIENCE:g} s: try again later") from None
    except OSError as error:
        raise EditError(f"cannot say in {folder} who has which text: {error.strerror or error}") from error


def _read(path: Path) -> dict[str, Lease]:
    with suppress(OSError, ValueError, TypeError, AttributeError):
        content = json.loads(path.read_bytes())
        return {str(text): Lease(str(reviewer), float(until)) for text, (reviewer, until) in content.items()}
    return {}
