"""The device: where a model computes, and what makes it compute the same again."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from nearspan.errors import ConfigError


def usable_device(wanted: str = "") -> torch.device:
    """The device of a name, or a GPU where there is one; a clear error where it cannot be used."""
    try:
        device = torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError("not supported")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # no such one, torch built without it, no memory left on it
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"`device` {wanted}: {reason}; use cpu, cuda or cuda:1 as this machine has them") from error
    return device


def usable_seed(seed: int) -> int:
    """The seed, if torch takes it; a clear error where it does not.

    >>> usable_seed(-1)
    -1
    """
    if not -(2**63) <= seed < 2**64:
        raise ConfigError(f"`seed` takes a whole number from -2^63 to 2^64 - 1, found {seed}")
    return seed


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """On a CPU, sums in the same order each time: else threads that add to one place come as they come."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(before or device.type == "cpu")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def usable_cores() -> int:
    """How many cores this process may use: as many as torch has threads, and no more than the system grants.

    `OMP_NUM_THREADS=1` or `torch.set_num_threads(1)` keep it to one; so do clusters that give a task one core.
    """
    granted = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(torch.get_num_threads(), granted, _container_cores()))


def _container_cores() -> int:
    """How many cores the container has, where it is limited to the time of some."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no container, or `max`
        return sys.maxsize
