"""Work that the processes of one training share out: each does its part, and all of them get the whole.

    with shared_out():  # in every process
        part = share(batches)
        for batch in part.items: ...
        whole = part.combine(tensor)  # of which each process has filled its rows

Without `shared_out`, or in a process alone, the part is the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, distributed

T = TypeVar("T")
Found = TypeVar("Found")

_PLACE: ContextVar[tuple[int, int]] = ContextVar("place", default=(0, 1))  # of this process, and how many there are
WHOLE_NUMBERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by their bytes


@contextmanager
def shared_out() -> Iterator[None]:
    """Share work out among all processes, each of which has to come here and do the same."""
    several = distributed.is_available() and distributed.is_initialized()
    token = _PLACE.set((distributed.get_rank(), distributed.get_world_size()) if several else (0, 1))
    try:
        yield
    finally:
        _PLACE.reset(token)


def end_together() -> None:
    """Leave the other processes, once all have come here; one that ended alone would end in a crash."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


@dataclass(frozen=True)
class Part(Generic[T]):
    """What this process does of some items, and how all processes get the whole."""

    items: Sequence[T]
    is_shared: bool = False

    def combine(self, tensor: Tensor) -> Tensor:
        """A tensor of which each process has filled its own rows and left the others 0, with all rows, bit by bit."""
        if not self.is_shared:
            return tensor
        bits = tensor.contiguous().view(WHOLE_NUMBERS[tensor.element_size()])
        if bits.dtype == torch.int16:  # which processes cannot add up
            bits = bits.int()
        distributed.all_reduce(bits)
        return bits.to(WHOLE_NUMBERS[tensor.element_size()]).view(tensor.dtype)

    def gather(self, found: dict[int, Found]) -> dict[int, Found]:
        """What all processes have found, by number."""
        if not self.is_shared:
            return found
        parts: list[dict[int, Found]] = [{} for _ in range(distributed.get_world_size())]
        distributed.all_gather_object(parts, found)
        return {number: value for part in parts for number, value in part.items()}


def share(items: Iterable[T]) -> Part[T]:
    """This process's part of some items; all of them where there are too few for all processes.

    >>> share("abc")
    Part(items=['a', 'b', 'c'], is_shared=False)
    """
    rank, count = _PLACE.get()
    every = list(items)
    if count == 1 or len(every) < count:
        return Part(every)
    return Part(every[rank::count], is_shared=True)
