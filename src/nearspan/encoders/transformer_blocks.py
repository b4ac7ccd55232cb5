"""The layers of BERT and its relatives, taken apart so that queries may come from something else than words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.errors import ConfigError


class Block(nn.Module):
    """One Transformer block: attention and feed-forward, each with a residual and a layer norm after it.

    Queries, keys and values come from outside, so that a span may attend to the words it is made of.
    """

    def __init__(self, parts: dict[str, Any], heads: int) -> None:
        super().__init__()
        self.query: nn.Linear = parts["query"]
        self.key: nn.Linear = parts["key"]
        self.value: nn.Linear = parts["value"]
        self.out: nn.Linear = parts["out"]
        self.middle: nn.LayerNorm = parts["middle"]
        self.up: nn.Linear = parts["up"]
        self.activation: Callable[[Tensor], Tensor] = parts["activation"]
        self.down: nn.Linear = parts["down"]
        self.end: nn.LayerNorm = parts["end"]
        self.heads = heads

    def after_attention(self, inputs: Tensor, context: Tensor, dropout: float) -> Tensor:
        """The block's output [N, d] from its inputs [N, d] and the attention's output [N, d]."""
        states = self.middle(inputs + functional.dropout(self.out(context), dropout))
        hidden = self.down(self.activation(self.up(states)))
        out: Tensor = self.end(states + functional.dropout(hidden, dropout))
        return out


# where each family keeps the parts of a layer, and where it keeps its layers
BERT = {
    "layers": "encoder.layer",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "middle": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "activation": "intermediate.intermediate_act_fn",
    "down": "output.dense",
    "end": "output.LayerNorm",
}
MPNET = BERT | {
    "query": "attention.attn.q",
    "key": "attention.attn.k",
    "value": "attention.attn.v",
    "out": "attention.attn.o",
    "middle": "attention.LayerNorm",
}
DISTILBERT = {
    "layers": "transformer.layer",
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "out": "attention.out_lin",
    "middle": "sa_layer_norm",
    "up": "ffn.lin1",
    "activation": "ffn.activation",
    "down": "ffn.lin2",
    "end": "output_layer_norm",
}
FAMILIES = {
    "bert": BERT,
    "camembert": BERT,
    "distilbert": DISTILBERT,
    "electra": BERT,
    "ernie": BERT,
    "mpnet": MPNET,
    "roberta": BERT,
    "xlm-roberta": BERT,
}


def blocks(encoder: Any) -> list[Block]:
    """The blocks of a Hugging Face encoder, from the lowest to the highest; the weights are the encoder's own."""
    family = FAMILIES.get(encoder.config.model_type)
    if family is None:
        raise ConfigError(
            f"a span Transformer cannot be built on an encoder of type {encoder.config.model_type!r}; "
            f"supported: {', '.join(FAMILIES)}"
        )
    heads = int(encoder.config.num_attention_heads)
    return [
        Block({part: _attribute(layer, place) for part, place in family.items() if part != "layers"}, heads)
        for layer in _attribute(encoder, family["layers"])
    ]


def position_bias(encoder: Any, length: int) -> Tensor | None:
    """What relative places add to attention scores [heads, length, length]; None for encoders without that."""
    if encoder.config.model_type != "mpnet":
        return None
    bias: Tensor = encoder.encoder.compute_position_bias(torch.zeros(1, length, 1))[0]
    return bias.detach()


def _attribute(module: Any, place: str) -> Any:
    for name in place.split("."):
        module = getattr(module, name)
    return module
