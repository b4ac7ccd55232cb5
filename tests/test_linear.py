"""Linear layers on a CPU: the same sums as torch's own, whichever library computes them."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from nearspan.linear import CpuLinear, linear, speed_up_linear


@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 5, 6), (0, 6)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_the_outputs_are_those_of_torch(shape: tuple[int, ...], with_bias: bool):
    torch.manual_seed(0)
    inputs, weight, bias = torch.randn(shape), torch.randn(8, 6), torch.randn(8) if with_bias else None
    torch.testing.assert_close(linear(inputs, weight, bias), functional.linear(inputs, weight, bias))


def test_inputs_and_weights_may_lie_in_memory_as_they_like():
    inputs, weight = torch.randn(6, 4).T, torch.randn(8, 9)[:, :6]
    torch.testing.assert_close(linear(inputs, weight), functional.linear(inputs, weight))


def test_other_types_go_through_torch():
    inputs, weight = torch.randn(3, 6, dtype=torch.float64), torch.randn(8, 6, dtype=torch.float64)
    assert torch.equal(linear(inputs, weight), functional.linear(inputs, weight))


def test_gradients_flow_as_before():
    torch.manual_seed(0)
    inputs, weight = torch.randn(3, 6), torch.randn(8, 6, requires_grad=True)
    linear(inputs, weight).square().sum().backward()
    expected = weight.detach().clone().requires_grad_()
    functional.linear(inputs, expected).square().sum().backward()
    torch.testing.assert_close(weight.grad, expected.grad)


@torch.no_grad()
def test_autocast_still_chooses_the_type():
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(torch.randn(3, 6), torch.randn(8, 6)).dtype == torch.bfloat16


@torch.no_grad()
def test_a_network_keeps_its_weights_and_its_other_layers():
    network = nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4))
    weight, inputs = network[0].weight, torch.randn(3, 6)
    expected = network(inputs)
    speed_up_linear(network)
    assert type(network[0]) is CpuLinear
    assert network[0].weight is weight
    assert type(network[1]) is nn.LayerNorm
    torch.testing.assert_close(network(inputs), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_gelu_may_go_with_it(dtype: torch.dtype):
    torch.manual_seed(0)
    inputs, weight, bias = (torch.randn(shape, dtype=dtype) for shape in ((5, 6), (8, 6), (8,)))
    expected = functional.gelu(functional.linear(inputs.double(), weight.double(), bias.double())).to(dtype)
    torch.testing.assert_close(linear(inputs, weight, bias, gelu=True), expected)
