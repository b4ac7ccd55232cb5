"""The layers of BERT and its relatives, taken apart so that queries may come from something else than words."""

import math
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nearspan.errors import ConfigError
from nearspan.linear import linear
from nearspan.precision import PackedLinear

ROWS = 1024  # that a block computes at once on a CPU


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
        self.up: nn.Linear | PackedLinear = parts["up"]
        self.activation: Callable[[Tensor], Tensor] = parts["activation"]
        self.down: nn.Linear = parts["down"]
        self.end: nn.LayerNorm = parts["end"]
        self.is_gelu = type(self.activation).__name__ in ("GELUActivation", "GELU")  # transformers', torch's
        self.heads = heads
        self.scale = 1 / math.sqrt(self.query.out_features // heads)  # of the scores

    def after_attention(self, inputs: Tensor, context: Tensor, dropout: float) -> Tensor:
        """The block's output [N, d] from its inputs [N, d] and the attention's output [N, d].

        Predicting on a CPU, some rows are computed after the others: their hidden states then stay in its cache.
        """
        if torch.is_grad_enabled() or inputs.device.type != "cpu":
            return self._feed_forward(inputs, context, dropout)
        parts = zip(inputs.split(ROWS), context.split(ROWS), strict=True)
        return torch.cat([self._feed_forward(*part, dropout) for part in parts])

    def _feed_forward(self, inputs: Tensor, context: Tensor, dropout: float) -> Tensor:
        """The same for all rows at once."""
        states = self.middle(inputs + functional.dropout(self.out(context), dropout))
        hidden = self.down(self._raise(states))
        out: Tensor = self.end(states + functional.dropout(hidden, dropout))
        return out

    def _raise(self, states: Tensor) -> Tensor:
        """The feed-forward's hidden states; predicting, a GELU goes into the product before it."""
        if self.is_gelu and not torch.is_grad_enabled():
            if isinstance(self.up, nn.Linear):
                return linear(states, self.up.weight, self.up.bias, gelu=True)
            if isinstance(self.up, PackedLinear):
                raised: Tensor = self.up(states, gelu=True)
                return raised
        return self.activation(self.up(states))


class DisentangledBlock(Block):
    """A block of DeBERTa (v2, v3): beside query_i . key_j a score has terms for the place of word j seen from word i.

    These are query_i . pos_key_r (c2p) and key_j . pos_query_r (p2c), with r the bucket of i - j in both, as the
    published weights were trained, where the DeBERTa paper writes j - i for the second. All terms are divided by
    sqrt(h * (1 + number of terms)).
    """

    def __init__(self, parts: dict[str, Any], heads: int, terms: Collection[str]) -> None:
        super().__init__(parts, heads)
        self.terms = _terms(terms)
        self.scale /= math.sqrt(1 + len(self.terms))
        # None: places are projected as words are (share_att_key)
        self.position_key: nn.Linear | None = parts.get("position_key")
        self.position_query: nn.Linear | None = parts.get("position_query")

    def position_scores(self, query: Tensor, key: Tensor, places: Tensor) -> Tensor:
        """What places add to scores [G, heads, starts, widths, K], scaled.

        From queries [G, heads, starts, widths, h], keys of the words from each start on [G, heads, starts, h, K], and
        vectors of places [widths, K, d].
        """
        scores = query.new_zeros(())
        if "c2p" in self.terms:
            keys = self._of_heads((self.position_key or self.key)(places))
            scores = scores + torch.einsum("gnswh,nwkh->gnswk", query, keys)
        if "p2c" in self.terms:
            queries = self._of_heads((self.position_query or self.query)(places))
            scores = scores + torch.einsum("gnshk,nwkh->gnswk", key, queries)
        return scores

    def _of_heads(self, places: Tensor) -> Tensor:
        """Projections [widths, K, d] as [heads, widths, K, h], scaled."""
        of_heads: Tensor = places.unflatten(-1, (self.heads, -1)).permute(2, 0, 1, 3)
        return of_heads * self.scale


class PositionTable(nn.Module):
    """DeBERTa's vectors of relative positions, which all its layers read and project."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.embeddings: nn.Embedding = encoder.rel_embeddings
        self.norm: nn.LayerNorm | None = getattr(encoder, "LayerNorm", None)  # norm_rel_ebd

    def forward(self) -> Tensor:
        """The vectors [2 * buckets, d]."""
        vectors: Tensor = self.embeddings.weight
        return vectors if self.norm is None else self.norm(vectors)


def _terms(names: Collection[str] | None) -> list[str]:
    """Those that DeBERTa's v2 and v3 know; others are passed over, as in transformers."""
    return [term for term in ("c2p", "p2c") if term in (names or ())]


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
DEBERTA = BERT | {
    "query": "attention.self.query_proj",
    "key": "attention.self.key_proj",
    "value": "attention.self.value_proj",
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
    "deberta-v2": DEBERTA,
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
    return [
        _block(
            encoder.config,
            layer,
            {part: _attribute(layer, place) for part, place in family.items() if part != "layers"},
        )
        for layer in _attribute(encoder, family["layers"])
    ]


def _block(config: Any, layer: Any, parts: dict[str, Any]) -> Block:
    heads = int(config.num_attention_heads)
    if config.model_type != "deberta-v2":
        return Block(parts, heads)
    attention = layer.attention.self  # has these two where places are not projected as words are
    names = {"position_key": "pos_key_proj", "position_query": "pos_query_proj"}
    parts |= {part: getattr(attention, name) for part, name in names.items() if hasattr(attention, name)}
    return DisentangledBlock(parts, heads, attention.pos_att_type)


def has_convolution(encoder: Any) -> bool:
    """Whether an encoder's first layer ends in a convolution over words, as those of some DeBERTa-v2 do."""
    return getattr(getattr(encoder, "encoder", None), "conv", None) is not None


def position_table(encoder: Any) -> PositionTable | None:
    """DeBERTa's vectors of relative positions, the encoder's own; None for encoders without them."""
    config = encoder.config
    if config.model_type != "deberta-v2" or not config.relative_attention or not _terms(config.pos_att_type):
        return None
    return PositionTable(encoder.encoder)


def position_rows(encoder: Any, length: int) -> Tensor:
    """The row of that table for a word that asks and one it asks about [length, length]; [0, 0] without a table."""
    if position_table(encoder) is None:
        return torch.zeros(0, 0, dtype=torch.long)
    size = encoder.encoder.rel_embeddings.num_embeddings
    places: Tensor = encoder.encoder.get_rel_pos(torch.zeros(1, length, 1))[0]  # from -buckets to buckets
    return torch.clamp(places + size // 2, 0, size - 1)


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
