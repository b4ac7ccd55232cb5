"""The span Transformer: its queries are spans and whose keys and values are their words (Zhu et al., 2023)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from nearspan.encoders import Encoded, Encoder
from nearspan.encoders.transformer_blocks import (
    Block,
    DisentangledBlock,
    PositionTable,
    blocks,
    has_convolution,
    position_bias,
    position_rows,
    position_table,
)
from nearspan.errors import ConfigError
from nearspan.precision import Precision, convert
from nearspan.registry import register
from nearspan.settings import Settings
from nearspan.spans.candidates import Candidates
from nearspan.spans.pooling import Pool, PoolingKind
from nearspan.spans.representation import Representation
from nearspan.spans.span_grid import SpanGrid, gather_rows, scatter_rows
from nearspan.spans.span_projection import SpanProjection, SpanProjectionSettings


class SpanTransformerSettings(Settings):
    """The span Transformer of equations 2 to 4."""

    kind: Literal["span_transformer"] = "span_transformer"
    depth: int | Literal["all"] = Field(default="all")  # of the encoder's highest layers, how many have one for spans
    pooling: PoolingKind = "max"  # how a span begins, from the states below its first layer
    shared: bool = False  # use the encoder's own weights instead of a copy of them
    dropout: float = Field(default=0.2, ge=0, lt=1)  # in the span Transformer and on what is pooled
    single: Literal["states", "layers"] = "states"  # a span of one word is the encoder's last state, or a span as any
    budget_mb: int = Field(default=8192, ge=1, le=10_000_000)  # the most memory that its layers take at once
    projection: SpanProjectionSettings = SpanProjectionSettings()


class SpanTransformer(Representation):
    """s^l = SpanBlock(s^(l-1), H^(l-1), H^(l-1)) over the words of each span, from a pooled s^0 on.

    Keys and values are projected once for a word, not once for every span it is in, and all widths go through a
    layer together: the feed-forward of the spans is the only large cost left. Spans of one word are the
    encoder's own last states, unless `single` says otherwise. Features beside the transformer's are pooled by their
    maximum. Where an encoder adds a bias for relative places to its scores, as MPNet does, a span adds the mean of its
    words' biases, as they were pretrained. Where it has vectors for relative places, as DeBERTa does, a span has the
    mean of its words' vectors; the table of these vectors is copied and learned with the layers, or with `shared` is
    the encoder's own.
    """

    Settings: ClassVar[type[Settings]] = SpanTransformerSettings
    may_skip_weights: ClassVar[bool] = True

    @classmethod
    def build(cls, settings: SpanTransformerSettings, encoder: Encoder, max_width: int) -> SpanTransformer:
        """The representation over an encoder's layers."""
        return cls(settings, encoder, max_width)

    def __init__(self, settings: SpanTransformerSettings, encoder: Encoder, max_width: int) -> None:
        super().__init__()
        transformer = encoder.transformer
        if transformer is None:
            raise ConfigError("a span Transformer needs a pretrained encoder's layers: set encoder.transformer.name")
        if encoder.highway is not None or encoder.bilstm is not None:
            raise ConfigError(
                "a span Transformer reads a transformer's layers, which encoder.highway and encoder.bilstm do not "
                "change: leave these parts out (representation.projection.bilstm reads the spans)"
            )
        transformer.all_layers = True
        encoder_blocks = blocks(transformer.encoder)
        depth = len(encoder_blocks) if settings.depth == "all" else settings.depth
        if not 1 <= depth <= len(encoder_blocks):
            raise ConfigError(
                f"representation.depth is {depth} and the encoder has {len(encoder_blocks)} layers; "
                'give 1 to that many, or use representation.kind = "pooling" for depth 0'
            )
        if depth == len(encoder_blocks) and has_convolution(transformer.encoder):
            raise ConfigError(
                "the encoder's first layer ends in a convolution over words, which spans cannot have: set "
                f"representation.depth to {depth - 1} or less"
            )
        top = encoder_blocks[-depth:]
        self.copies = nn.ModuleList(() if settings.shared else copy.deepcopy(top)).requires_grad_()  # frozen or not
        self.shared = tuple(top) if settings.shared else ()  # a tuple: these weights are the encoder's
        self.reader: Sequence[Block] = ()  # copies in another precision, for prediction
        self.dtype = torch.float32  # of what they read
        self.max_width = max_width
        self.bias: Tensor | None  # [heads, widths, words of a span]
        bias = position_bias(transformer.encoder, max_width)
        self.register_buffer("bias", None if bias is None else mean_of_words(bias))
        table = position_table(transformer.encoder)
        self.copied_table = None if table is None or settings.shared else copy.deepcopy(table).requires_grad_()
        self.shared_table = (table,) if settings.shared else ()
        self.rows: Tensor  # of that table, for a word that asks and the word it asks about
        self.register_buffer("rows", position_rows(transformer.encoder, max_width), persistent=False)
        self.dropout = nn.Dropout(settings.dropout)
        self.single = settings.single
        self.budget = settings.budget_mb * 2**20
        self.pool = Pool(settings.pooling, transformer.size)
        self.beside = Pool("max", 0)
        self.projection = SpanProjection(settings.projection, encoder.width, max_width)
        self.size = self.projection.size

    @property
    def layers(self) -> Sequence[Block]:
        """The span Transformer's blocks, lowest first."""
        if self.reader and not torch.is_grad_enabled():
            return self.reader
        layers: Sequence[Block] = self.shared or list(self.copies)  # type: ignore[arg-type]
        return layers

    def set_precision(self, precision: Precision) -> None:
        """Predict in a precision from now on, with a copy of the weights unless it is float32."""
        self.reader, self.dtype = (), torch.float32
        if precision != "float32":
            self.reader = tuple(convert(block, precision) for block in self.layers)
            self.dtype = torch.bfloat16 if precision == "bf16" else torch.float32

    @property
    def table(self) -> PositionTable | None:
        """The vectors of relative places, for DeBERTa."""
        return self.shared_table[0] if self.shared_table else self.copied_table

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """The copies of the encoder's weights."""
        table = () if self.copied_table is None else self.copied_table.parameters()
        return [*self.copies.parameters(), *table]

    def forward(self, encoded: Encoded, candidates: Candidates) -> Tensor:
        """Span vectors [S, size]."""
        words, batch = encoded.layers[-1], encoded.batch
        grid = SpanGrid.of(candidates, batch.lengths, words.shape[1], self.max_width)
        below = encoded.layers[-len(self.layers) - 1 : -1]
        if self.reader and not torch.is_grad_enabled():
            below = tuple(states.to(self.dtype) for states in below)
        spans = self.wide_states(below, grid).to(words.dtype)
        if self.single == "layers":
            words = self.single_states(below).to(words.dtype)
        beside = encoded.beside_transformer
        if beside is not None:
            spans = torch.cat([spans, self.beside(beside, grid)], dim=-1)
            words = torch.cat([words, beside], dim=-1)
        vectors: Tensor = self.projection(words, spans, grid, candidates, batch)
        return vectors

    def single_states(self, layers: Sequence[Tensor]) -> Tensor:
        """Equation 3 for spans of one word [B, T, d], in parts like wide ones: attention to one word is its value."""
        parts = self._parts(layers[0], layers[0].shape[1], 1)
        if len(parts) == 1:
            return self._run_single(layers)
        outputs = [_recompute(self._run_single, [states[:, a:b] for states in layers]) for a, b in parts]
        return torch.cat(outputs, dim=1)

    def wide_states(self, layers: Sequence[Tensor], grid: SpanGrid) -> Tensor:
        """The top states of the wide spans [N, d], from the layers [B, T, d] below each of the span layers.

        What would take more than the budget is done for some first words after the other; in training these parts
        are then computed again on the way back instead of being kept.
        """
        if not len(grid):
            return layers[0].new_zeros(0, layers[0].shape[-1])
        parts = self._parts(layers[0], grid.starts, grid.widths)
        if len(parts) == 1:
            return self._run_wide(layers, grid)
        outputs: list[Tensor] = []
        rows: list[Tensor] = []
        for first, stop in parts:
            part, rows_of_part = grid.window(first, stop)
            seen = [states[:, first : stop + grid.widths] for states in layers]
            outputs.append(_recompute(self._run_wide, seen, part))
            rows.append(rows_of_part)
        return gather_rows(torch.cat(outputs), torch.cat(rows).argsort())

    def _parts(self, states: Tensor, starts: int, widths: int) -> list[tuple[int, int]]:
        """Ranges of first words to compute together: all if that is within the budget, and else as many as leave room
        for the weights' gradients, which are added up over the parts."""
        training = torch.is_grad_enabled()
        bytes_of_word = span_bytes(self.layers if training else self.layers[:1], widths) * len(states) * widths
        gradients = weight_bytes(self.layers) if training and bytes_of_word * starts > self.budget else 0
        step = max(1, (self.budget - gradients) // bytes_of_word)
        return [(first, min(first + step, starts)) for first in range(0, starts, step)]

    def _run_single(self, layers: Sequence[Tensor]) -> Tensor:
        spans: Tensor = self.dropout(layers[0])
        rate = self.dropout.p if self.training else 0.0
        for block, states in zip(self.layers, layers, strict=True):
            spans = block.after_attention(spans, block.value(states), rate)
        return spans

    def _run_wide(self, layers: Sequence[Tensor], grid: SpanGrid) -> Tensor:
        spans: Tensor = self.pool(self.dropout(layers[0]), grid)
        groups = Groups.of(grid, None if self.bias is None else self.bias.to(spans.dtype))
        table = None if self.table is None else self.table().to(spans.dtype)
        for block, states in zip(self.layers, layers, strict=True):
            spans = self._run_block(block, spans, states, groups, table)
        return spans

    def _run_block(self, block: Block, spans: Tensor, states: Tensor, groups: Groups, table: Tensor | None) -> Tensor:
        """Equation 3 for all wide spans [N, d]; states [B, T, d] are the words'."""
        count = len(states) * groups.count
        queries = scatter_rows(block.query(spans), groups.cells, count * groups.size * groups.widths)
        query = queries.view(count, groups.size * groups.widths, block.heads, -1).transpose(
            1, 2
        )  # [G, heads, spans, h]
        key, value = (groups.words(project(states), block.heads) for project in (block.key, block.value))
        rate = self.dropout.p if self.training else 0.0
        seen = groups.seen
        if isinstance(block, DisentangledBlock) and table is not None:
            places = self._places(functional.dropout(table, rate), groups.widths)
            seen = groups.position_bias(block, query, key, places)
        attended = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=seen, dropout_p=rate, scale=block.scale
        )
        context = gather_rows(attended.transpose(1, 2).reshape(len(queries), -1), groups.cells)
        return block.after_attention(spans, context, rate)

    def _places(self, table: Tensor, widths: int) -> Tensor:
        """The mean vector of a span's words for each word in it [widths, widths + 1, d], from [2 * buckets, d]."""
        pairs = table.T[:, self.rows[: widths + 1, : widths + 1]]  # [d, word that asks, word that is asked about]
        return mean_of_words(pairs).movedim(0, -1)


def _recompute(call: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """What a call gives; in training it is computed once more on the way back instead of being kept."""
    training = torch.is_grad_enabled()
    output: Tensor = checkpoint(call, *arguments, use_reentrant=False) if training else call(*arguments)
    return output


@dataclass(frozen=True)
class Groups:
    """The wide spans of a batch by neighbouring first words: those of a group attend to all its words together.

    Each span sees its own words alone. That a few scores are computed for nothing costs less than an attention of its
    own for every first word, which fills no tile of a GPU and copies each word once for every word before it.
    """

    cells: Tensor  # [N] where each wide span is in the grid [B, count, size, widths]
    count: int  # groups of a sentence
    size: int  # first words of a group
    widths: int
    seen: Tensor  # [size * widths, size + widths] which words a span sees, or [heads, ...] what is added to its scores

    @classmethod
    def of(cls, grid: SpanGrid, bias: Tensor | None) -> Groups:
        """The groups of a grid's first words, with a bias [heads, widths, words of a span] if there is one."""
        size = min(group_size(grid.widths), grid.starts)
        count = -(-grid.starts // size)
        cells = (grid.sentence * (count * size) + grid.first) * grid.widths + grid.width - 2
        device = grid.first.device
        first = torch.arange(size, device=device)[:, None, None]
        last = first + torch.arange(1, grid.widths + 1, device=device)[:, None]
        word = torch.arange(size + grid.widths, device=device)
        inside = ((first <= word) & (word <= last)).flatten(0, 1)
        if bias is None:
            return cls(cells, count, size, grid.widths, inside)
        width = torch.arange(grid.widths, device=device)[:, None]
        added = bias[:, width, (word - first).clamp(0, grid.widths)].flatten(1, 2)
        return cls(cells, count, size, grid.widths, added.masked_fill(~inside, -torch.inf))

    def words(self, states: Tensor, heads: int) -> Tensor:
        """The words of each group [B * count, heads, size + widths, h] from [B, T, d]; zeros beyond the end."""
        length = self.count * self.size + self.widths
        seen = functional.pad(states, (0, 0, 0, max(0, length - states.shape[1])))[:, :length]
        groups = seen.unfold(1, self.size + self.widths, self.size)  # [B, count, d, size + widths]
        words: Tensor = groups.unflatten(2, (heads, -1)).transpose(3, 4).flatten(0, 1)
        return words

    def position_bias(self, block: DisentangledBlock, query: Tensor, key: Tensor, places: Tensor) -> Tensor:
        """What is added to the scores of a group's spans [G, heads, size * widths, size + widths].

        From queries [G, heads, size * widths, h], keys [G, heads, size + widths, h] and vectors of the places in a
        span [widths, widths + 1, d].
        """
        queries = query.unflatten(2, (self.size, self.widths))
        scores = block.position_scores(queries, key.unfold(2, self.widths + 1, 1), places)
        beyond = torch.ones(self.widths, self.widths + 1, dtype=torch.bool, device=scores.device).triu(2)
        scores = scores.masked_fill(beyond, -torch.inf).transpose(2, 3)  # [G, heads, widths, size, place in the span]
        # row f moves f words to the right: in rows that are one word too long, cut anew
        long = functional.pad(scores, (0, self.size), value=-torch.inf).flatten(3)
        words: Tensor = long[..., : -self.size].unflatten(3, (self.size, -1))  # [..., widths, size, word of the group]
        return words.transpose(2, 3).flatten(2, 3)


def mean_of_words(pairs: Tensor) -> Tensor:
    """The mean over a span's words of what each has for a word in it [..., widths, K], from [..., K, K] for words."""
    count = torch.arange(1, pairs.shape[-2] + 1, device=pairs.device)[:, None]
    return (pairs.cumsum(-2) / count)[..., 1:, :]  # a span of k words has the k first rows


def group_size(widths: int) -> int:
    """How many first words make a group: a dozen or more, and its words a multiple of 8, as GPUs like it.

    >>> group_size(7), group_size(24)
    (17, 16)
    """
    return -(-(12 + widths) // 8) * 8 - widths


def span_bytes(layers: Sequence[Block], widths: int) -> int:
    """What a span takes in full precision: all that these layers keep of it, and one layer's gradients."""
    floats = [_count_floats(block, widths) for block in layers]
    return 4 * (sum(floats) + max(floats))


def weight_bytes(layers: Sequence[Block]) -> int:
    """What the layers' weights take in full precision, and their gradients once more."""
    return 4 * sum(weight.numel() for block in layers for weight in block.parameters())


def _count_floats(block: Block, widths: int) -> int:
    """A span's two feed-forward states, eleven others of the encoder's width, three attention rows for each head."""
    words = group_size(widths) + widths
    return 2 * block.up.out_features + 11 * block.up.in_features + 3 * block.heads * words


register("representation", SpanTransformer)
