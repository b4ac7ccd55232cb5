"""The device that a model computes on."""

import pytest
import torch

import nearspan
from nearspan.errors import ConfigError


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "nonsense", "cpu:x"])
def test_a_device_that_is_not_there_is_a_clear_error(folders, device: str):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="--device"):
        nearspan.load(folders["classifier"], device=device)
