"""The device that a model computes on."""

from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.device import repeatable, usable_seed
from nearspan.errors import ConfigError


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "nonsense", "cpu:x"])
def test_a_device_that_is_not_there_is_a_clear_error(folders, device: str):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="`device`"):
        nearspan.load(folders["classifier"], device=device)


@pytest.mark.parametrize("seed", [-(2**63) - 1, 2**64])
def test_a_seed_that_torch_does_not_take_is_a_clear_error(nearspan_command, documents, tmp_path: Path, seed: int):
    message = rf"`seed` takes a whole number from -2\^63 to 2\^64 - 1, found {seed}"
    with pytest.raises(ConfigError, match=message):
        nearspan.train("classifier", documents, out=tmp_path / "m", seed=seed, device="cpu")
    with pytest.raises(ConfigError, match=message):
        nearspan.tune("classifier", documents, documents, space={"training.batch": "1|2"}, out=tmp_path, seed=seed)
    with pytest.raises(ConfigError, match=message):
        nearspan.learn_vectors(documents, tmp_path / "v.txt", seed=seed)
    nearspan.write(documents, tmp_path / "data.jsonl")
    common = ("--train", tmp_path / "data.jsonl", "--out", tmp_path / "m", "--device", "cpu")
    ran = nearspan_command("train", "classifier", *common, "--seed", seed)
    assert (ran.code, "error: --seed takes" in ran.err) == (2, True)


@pytest.mark.parametrize("seed", [-(2**63), -1, 2**64 - 1])
def test_torch_takes_all_other_seeds(seed: int):
    torch.Generator().manual_seed(usable_seed(seed))


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
