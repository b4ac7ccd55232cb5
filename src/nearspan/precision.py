"""The precision that a pretrained encoder's layers compute in when a model predicts."""

from __future__ import annotations

import copy
import logging
import warnings
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from nearspan.errors import ConfigError, did_you_mean
from nearspan.linear import HAS_ONEDNN

logger = logging.getLogger(__name__)

Precision = Literal["auto", "float32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
SMALLEST = 1e-12  # what numbers are divided by at least
ROWS = 1024  # of inputs, for which weights are packed; others are multiplied with them as well
Layers = TypeVar("Layers", bound=nn.Module)


def usable_precision(wanted: str, device: torch.device) -> Precision:
    """The precision of a name on a device; `auto` is the quickest way to the results of float32.

    >>> usable_precision("auto", torch.device("cpu"))
    'float32'
    """
    if wanted not in PRECISIONS:
        raise ConfigError(f"`precision` is {wanted!r}; {did_you_mean(wanted, PRECISIONS)}")
    if wanted == "int8" and device.type != "cpu":
        raise ConfigError("`precision` int8 is for a CPU: take bf16 on a GPU, or `device` cpu")
    if wanted == "int8" and not {"onednn", "x86"} & set(torch.backends.quantized.supported_engines):
        raise ConfigError("`precision` int8 needs a torch with oneDNN or FBGEMM: take float32 or bf16")
    if wanted == "bf16" and device.type == "cpu" and not computes_bf16():
        logger.warning("this processor has no instructions for bf16: float32 is quicker here")
    return "float32" if wanted == "auto" else wanted


def computes_bf16() -> bool:
    """Whether this processor multiplies bf16 itself."""
    names = "_is_avx512_bf16_supported", "_is_amx_tile_supported"
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def convert(layers: Layers, precision: Precision) -> Layers:
    """A copy of layers that predicts in a precision; in float32 the layers themselves."""
    if precision == "float32":
        return layers
    converted = copy.deepcopy(layers).requires_grad_(False).eval()
    if precision == "bf16":
        converted = converted.to(torch.bfloat16)
        weight = next(converted.parameters(), None)
        if not HAS_ONEDNN or weight is None or weight.device.type != "cpu":
            return converted
    kind = PackedLinear if precision == "bf16" else Int8Linear
    for module in list(converted.modules()):
        for name, part in module.named_children():
            if isinstance(part, nn.Linear):
                setattr(module, name, kind(part))
    return converted


class PackedLinear(nn.Module):
    """A linear layer whose weights lie in memory as oneDNN wants them: it need not order them each time."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self.packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach().contiguous(), ROWS)

    def forward(self, inputs: Tensor, *, gelu: bool = False) -> Tensor:
        """Outputs [..., H'] of inputs [..., H], with a GELU of them where asked for."""
        after: tuple[str, list[float], str] = ("gelu", [], "none") if gelu else ("none", [], "")
        outputs: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self.packed, self.bias, *after)
        return outputs


class Int8Linear(nn.Module):
    """A linear layer whose weights are int8, a scale for each output, and whose inputs become int8 as they come.

    Each input is divided by its own largest number first: with one scale for all, a few large ones cost the others
    their digits. Where zero is among the 256 numbers depends on all that is read at once, as do a score's last digits.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = linear.weight.detach().float()
        scales = (weight.abs().amax(1) / 127).clamp(min=SMALLEST)
        zeros = torch.zeros(len(weight), dtype=torch.long)
        self.bias = linear.bias.detach().float() if linear.bias is not None else torch.zeros(())
        with warnings.catch_warnings():  # torch says that such tensors will go one day, and packs no others yet
            warnings.simplefilter("ignore", UserWarning)
            quantised = torch.quantize_per_channel(weight, scales.double(), zeros, 0, torch.qint8)
        engines, before = torch.backends.quantized.supported_engines, torch.backends.quantized.engine
        torch.backends.quantized.engine = "onednn" if "onednn" in engines else "x86"
        try:
            self.packed: Any = torch.ops.quantized.linear_prepack(quantised, None)
        finally:
            torch.backends.quantized.engine = before

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs [..., H'] of inputs [..., H]."""
        if not inputs.numel():
            return inputs.new_zeros(*inputs.shape[:-1], self.out_features)
        # a norm would say the same, thirty times as slowly
        largest = torch.maximum(inputs.amax(-1, keepdim=True), -inputs.amin(-1, keepdim=True)).clamp_(min=SMALLEST)
        outputs: Tensor = torch.ops.quantized.linear_dynamic(inputs / largest, self.packed)
        return outputs.mul_(largest).add_(self.bias)
