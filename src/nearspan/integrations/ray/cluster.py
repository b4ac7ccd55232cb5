"""The cluster that works: one that is there already, or one of this machine's cores for as long as it is needed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import ray
from ray.data import ActorPoolStrategy, DataContext

from nearspan.device import usable_cores
from nearspan.errors import ConfigError, first_line

IN_FLIGHT = 2  # parts at a worker: one that it reads and one that waits


@contextmanager
def cluster(address: str = "local") -> Iterator[None]:
    """A connection to a cluster: `auto` is one that runs here or that RAY_ADDRESS names, `local` a new one of this
    machine's cores. Where the program is connected already, it stays so.

        with cluster("auto"):
            annotate_files(...)
    """
    if ray.is_initialized():
        yield
        return
    cores = usable_cores() if address == "local" else None
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # each loss that Ray makes good is an error in its log
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        ray.init(address, num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"no Ray cluster answers at {address!r}: {first_line(error)}. `local` starts one on this machine, `auto` "
            "takes the one that runs here or that RAY_ADDRESS names"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def small_blocks() -> Iterator[None]:
    """Let datasets that are made here pass on every part at once, and go on where a part is lost for good."""
    context = DataContext.get_current()
    changes = {"target_max_block_size": 1, "max_errored_blocks": -1, "enable_progress_bars": False}
    before = {name: getattr(context, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(context, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)


def usable_workers(count: int | None, gpus: float) -> int:
    """How many workers there are to be: one for each GPU where they take one, else one for each core."""
    if count is not None and count < 1:
        raise ConfigError(f"`workers` is {count}: one at least has to work")
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    found = int(resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 1))
    return count or max(1, found)


def pool(count: int) -> ActorPoolStrategy:
    """So many workers, each with a few parts at once."""
    return ActorPoolStrategy(size=count, max_tasks_in_flight_per_actor=IN_FLIGHT)


def device_of(gpus: float) -> str:
    """Where a worker with so many GPUs computes."""
    return "cuda" if gpus else "cpu"
