"""A pretrained encoder in two: the lowest layers, which stay as they are, and those above, which are fine-tuned."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from nearspan.encoders.transformer_blocks import FAMILIES, has_convolution
from nearspan.errors import ConfigError

# families whose layers read the embeddings' output and nothing else of the embeddings
SPLIT_FAMILIES = {name: family["layers"] for name, family in FAMILIES.items() if name != "electra"}


@dataclass(frozen=True)
class LayerSplit:
    """Two views of one encoder, which share its weights: `upper` reads what `lower` gives, as `inputs_embeds`."""

    lower: Any
    upper: Any

    @classmethod
    def of(cls, encoder: Any, count: int) -> LayerSplit:
        """Split an encoder above its `count` lowest layers."""
        kind = encoder.config.model_type
        if kind not in SPLIT_FAMILIES or has_convolution(encoder):
            raise ConfigError(
                f"the layers of an encoder of type {kind!r} cannot be split: set encoder.transformer.frozen_layers=0; "
                f"those that can: {', '.join(SPLIT_FAMILIES)}"
            )
        place = SPLIT_FAMILIES[kind]
        layers = encoder.get_submodule(place)
        if count >= len(layers):
            raise ConfigError(
                f"encoder.transformer.frozen_layers is {count}, and the encoder has {len(layers)} layers: "
                "give fewer, or set encoder.transformer.frozen=true"
            )
        lower = _view(encoder, place, layers[:count])
        upper = _view(_view(encoder, place, layers[count:]), "embeddings", _GivenStates())
        encoder.embeddings.requires_grad_(False)
        layers[:count].requires_grad_(False)
        return cls(lower, upper)

    def keep_lower_still(self) -> None:
        """The lower layers read without dropout, also while the upper ones learn."""
        self.lower.eval()


class _GivenStates(nn.Module):
    """Stands in the place of embeddings and passes on what it is given."""

    def forward(self, *inputs: Any, inputs_embeds: Tensor | None = None, **others: Any) -> Tensor:
        del others
        if inputs_embeds is not None:
            return inputs_embeds
        states: Tensor = next(tensor for tensor in inputs if tensor is not None)  # DistilBERT names no argument
        return states


def _view(module: Any, place: str, part: nn.Module) -> Any:
    """The module with another one at a place within it; all else is shared."""
    view = copy(module)
    view._modules = dict(module._modules)
    name, _, rest = place.partition(".")
    view._modules[name] = _view(module._modules[name], rest, part) if rest else part
    return view
