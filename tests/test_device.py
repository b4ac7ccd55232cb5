"""The device that a model computes on."""

import pytest
import torch

import nearspan
from nearspan.device import repeatable
from nearspan.errors import ConfigError


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "nonsense", "cpu:x"])
def test_a_device_that_is_not_there_is_a_clear_error(folders, device: str):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="--device"):
        nearspan.load(folders["classifier"], device=device)


def gradients_of_rows_read_often() -> torch.Tensor:
    """What many readers of three rows send back, added up by two threads."""
    torch.manual_seed(0)
    rows, which = torch.randn(3, 64, requires_grad=True), torch.randint(3, (20_000,))
    (rows[which] * torch.randn(20_000, 64)).sum().backward()
    assert rows.grad is not None
    return rows.grad


def test_threads_add_up_in_the_same_order_each_time():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with repeatable(torch.device("cpu")):
            first, *others = [gradients_of_rows_read_often() for _ in range(5)]
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(first, other) for other in others)
    assert not torch.are_deterministic_algorithms_enabled()
