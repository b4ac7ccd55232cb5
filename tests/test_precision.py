"""Precision: what a name means on a device, and copies of layers that compute in it."""

import pytest
import torch
from torch import nn

from nearspan.errors import ConfigError
from nearspan.precision import Int8Linear, computes_bf16, convert, usable_precision

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def layers() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 4)).eval()


def test_auto_is_float32():
    assert usable_precision("auto", CPU) == usable_precision("auto", GPU) == "float32"


def test_an_unknown_precision_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="'int9'; did you mean 'int8'"):
        usable_precision("int9", CPU)


def test_int8_is_refused_on_a_gpu():
    with pytest.raises(ConfigError, match="int8 is for a CPU"):
        usable_precision("int8", GPU)


def test_slow_bf16_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr("nearspan.precision.computes_bf16", lambda: False)
    assert usable_precision("bf16", CPU) == "bf16"
    assert "float32 is quicker here" in caplog.text
    assert isinstance(computes_bf16(), bool)


def test_float32_copies_nothing():
    original = layers()
    assert convert(original, "float32") is original


@pytest.mark.parametrize(("precision", "near"), [("bf16", 0.02), ("int8", 0.03)])
@torch.no_grad()
def test_a_copy_computes_nearly_the_same_and_leaves_the_original_alone(precision: str, near: float):
    original, inputs = layers(), torch.randn(5, 6)
    before = {name: weight.clone() for name, weight in original.state_dict().items()}
    copied = convert(original, precision)
    outputs = copied(inputs.bfloat16() if precision == "bf16" else inputs).float()
    expected = original(inputs)
    assert 0 < (outputs - expected).abs().max() < near
    assert all(torch.equal(before[name], weight) for name, weight in original.state_dict().items())


@torch.no_grad()
def test_int8_keeps_small_inputs_beside_large_ones():
    layer = nn.Linear(6, 4)
    small, large = torch.randn(2, 6), 1000 * torch.randn(2, 6)
    outputs = Int8Linear(layer)(torch.cat([small, large]))[:2]
    torch.testing.assert_close(outputs, layer(small), atol=0.03, rtol=0.03)


@torch.no_grad()
def test_int8_gives_nothing_for_nothing():
    assert Int8Linear(nn.Linear(6, 4))(torch.zeros(0, 6)).shape == (0, 4)
