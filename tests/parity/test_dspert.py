"""Zhu et al. (2023), DSpERT: the fast forms against loops written from the paper's text."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch.nn import functional

import nearspan
from nearspan.encoders import Batch, Encoded, Encoder, EncoderSettings, transformer_blocks
from nearspan.encoders.bilstm import BiLSTMSettings
from nearspan.errors import ConfigError
from nearspan.heads import BiaffineHead, HeadInputs, Query, SoftmaxHead, Targets
from nearspan.heads.biaffine import BiaffineSettings
from nearspan.heads.softmax import SoftmaxSettings
from nearspan.spans import enumerate_spans, span_transformer
from nearspan.spans.endpoint_mlp import EndpointMLP, EndpointMLPSettings
from nearspan.spans.pooling import Pooling, PoolingSettings
from nearspan.spans.span_grid import SpanGrid
from nearspan.spans.span_projection import SpanProjectionSettings
from nearspan.spans.span_transformer import SpanTransformer, SpanTransformerSettings

SIZE, HEADS, LAYERS = 16, 2, 3
POOLINGS = ("max", "mean", "multiplicative", "additive")
BATCHES = {  # lengths of the sentences, and K
    "padding": ([5, 1, 7, 2], 4),
    "sentences shorter than K": ([3, 2], 6),
    "one sentence": ([6], 3),
    "two widths": ([5, 3], 2),
    "one width": ([4, 2], 1),
    "one word": ([1, 1], 4),
}


# the encoders, tiny and with random weights


def shape(**others):
    common = {"hidden_size": SIZE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 24}
    return {**common, "vocab_size": 30, "max_position_embeddings": 40, **others}


def deberta(**others):
    """One like DeBERTa-v3; beyond 3 words distances have logarithmic buckets."""
    v3 = {"relative_attention": True, "position_buckets": 6, "norm_rel_ebd": "layer_norm", "share_att_key": True}
    v3 |= {"pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0}
    return transformers.DebertaV2Model(transformers.DebertaV2Config(**shape(), **{**v3, **others}))


DEBERTAS = {
    "as v3": {},
    "with projections for places": {"share_att_key": False},
    "without a norm": {"norm_rel_ebd": "none"},
    "without buckets": {"position_buckets": -1, "max_relative_positions": 3},
    "c2p": {"pos_att_type": ["c2p"], "share_att_key": False},
    "p2c": {"pos_att_type": ["p2c"], "share_att_key": False},
    "without terms": {"pos_att_type": None},
    "with terms that it does not know": {"pos_att_type": ["p2p"]},
    "without relative attention": {"relative_attention": False, "pos_att_type": None, "norm_rel_ebd": "none"},
}
FAMILIES = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**shape())),
    "roberta": lambda: transformers.RobertaModel(transformers.RobertaConfig(**shape())),
    "xlm-roberta": lambda: transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**shape())),
    "camembert": lambda: transformers.CamembertModel(transformers.CamembertConfig(**shape())),
    "ernie": lambda: transformers.ErnieModel(transformers.ErnieConfig(**shape())),
    "electra": lambda: transformers.ElectraModel(transformers.ElectraConfig(**shape(embedding_size=8))),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(dim=SIZE, n_layers=LAYERS, n_heads=HEADS, hidden_dim=24, vocab_size=30)
    ),
    "mpnet": lambda: transformers.MPNetModel(transformers.MPNetConfig(**shape())),
    "deberta-v2": deberta,
}


def pretrained_encoder(family="bert", seed=0, **others):
    """An encoder in which no two weights are equal and attention is not flat."""
    torch.manual_seed(seed)
    model = FAMILIES[family](**others).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def layers_of(model):
    return model.transformer.layer if model.config.model_type == "distilbert" else model.encoder.layer


def build_spans(model, max_width, beside=0, reader=None, **settings):
    """Deep spans over an encoder and over features of the size `beside`."""
    transformer = SimpleNamespace(encoder=model, size=SIZE, layered=False)
    encoder = SimpleNamespace(transformer=transformer, width=SIZE + beside, highway=None, bilstm=None)
    chosen = SpanTransformerSettings(projection=reader or SpanProjectionSettings(size=5, width_size=3), **settings)
    return SpanTransformer(chosen, encoder, max_width)


def grid_of(lengths, max_width):
    lengths = torch.tensor(lengths)
    return SpanGrid.of(enumerate_spans(lengths, max_width), lengths, int(lengths.max()), max_width)


def random_states(lengths, count, size=SIZE, seed=1, dtype=torch.float32):
    """The states [B, T, size] of `count` layers; padding is not 0, so that it shows where it is read."""
    torch.manual_seed(seed)
    return [torch.randn(len(lengths), max(lengths), size, dtype=dtype, requires_grad=True) for _ in range(count)]


# the paper's equations, one span at a time


def aggregate(pool, words):
    """Equation 2 and appendix A: a vector [d] from the words of a span [k, d]."""
    if pool.kind == "max":
        return torch.stack([words[:, j].max() for j in range(words.shape[1])])
    if pool.kind == "mean":
        return sum(words) / len(words)
    weight, u, v = pool.attention.inner.weight, pool.attention.outer, pool.attention.vector
    inputs = words if v is None else [torch.cat([word, v]) for word in words]
    scores = torch.stack([u @ torch.tanh(weight @ tensor) for tensor in inputs])
    return sum(share * word for share, word in zip(scores.softmax(0), words, strict=True))


def attend(query, keys, values, bias=None):
    """Multi-head attention of one query [d] over keys and values [k, d], with a bias [heads, k] on its scores."""
    rows = []
    bias = torch.zeros(HEADS, len(keys)) if bias is None else bias
    for q, k, v, b in zip(query.chunk(HEADS), keys.chunk(HEADS, dim=1), values.chunk(HEADS, dim=1), bias, strict=True):
        scores = torch.stack([q @ key / math.sqrt(len(q)) for key in k]) + b
        rows.append(sum(share * value for share, value in zip(scores.softmax(0), v, strict=True)))
    return torch.cat(rows)


def bucket(distance, buckets, most):
    """DeBERTa's bucket of a distance in words: near ones have their own, far ones share some by their logarithm."""
    half = buckets // 2
    if buckets <= 0 or abs(distance) <= half:
        return distance
    beyond = math.log(abs(distance) / half) / math.log((most - 1) / half) * (half - 1)
    return int(math.copysign(half + math.ceil(beyond), distance))


def attend_disentangled(model, layer, query, keys, values, asking, asked):
    """DeBERTa's attention of one query [d] over the words at the places `asked`, for the places that ask together.

    Q_i . K_j + Q_i . P_K(i - j) + P_Q(i - j) . K_j, over sqrt(3 h), with the mean of P_K and P_Q over the places i.
    """
    attention, config = layer.attention.self, model.config
    terms = {"c2p", "p2c"} & set(config.pos_att_type or [])
    if config.relative_attention:
        size = len(model.encoder.rel_embeddings.weight) // 2
        most = config.max_relative_positions if config.max_relative_positions > 0 else config.max_position_embeddings
        table = model.encoder.rel_embeddings.weight
        table = attention.pos_dropout(model.encoder.LayerNorm(table) if config.norm_rel_ebd == "layer_norm" else table)
        key_of, query_of = (
            (attention.key_proj, attention.query_proj)
            if config.share_att_key
            else (getattr(attention, "pos_key_proj", None), getattr(attention, "pos_query_proj", None))
        )
    result = []
    for head in range(HEADS):
        part = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
        scores = []
        for key, j in zip(keys, asked, strict=True):
            score = query[part] @ key[part]
            for i in asking if terms else ():
                vector = table[min(max(bucket(i - j, config.position_buckets, most) + size, 0), 2 * size - 1)]
                if "c2p" in terms:
                    score = score + query[part] @ key_of(vector)[part] / len(asking)
                if "p2c" in terms:
                    score = score + key[part] @ query_of(vector)[part] / len(asking)
            scores.append(score / math.sqrt(SIZE // HEADS * (1 + len(terms))))
        result.append(sum(share * v[part] for share, v in zip(torch.stack(scores).softmax(0), values, strict=True)))
    return torch.cat(result)


def relative(model, asking, asked):
    """MPNet's bias [heads, k] for places that ask about k places: the mean over those that ask; None for others."""
    if model.config.model_type != "mpnet":
        return None
    encoder = model.encoder
    return torch.stack(
        [
            sum(
                encoder.relative_attention_bias(encoder.relative_position_bucket(torch.tensor(word - place)))
                for place in asking
            )
            / len(asking)
            for word in asked
        ],
        dim=1,
    ).detach()


def span_block(model, layer, span, words, asking, asked):
    """Equation 3 for one span [d] and its words [k, d], by the sub-modules of a Hugging Face layer.

    The span asks from the places `asking` about those of the words.
    """
    family, bias = model.config.model_type, relative(model, asking, asked)
    if family == "distilbert":
        attention = layer.attention
        context = attention.out_lin(attend(attention.q_lin(span), attention.k_lin(words), attention.v_lin(words)))
        middle = layer.sa_layer_norm(context + span)
        return layer.output_layer_norm(layer.ffn(middle[None])[0] + middle)
    if family == "mpnet":
        attention = layer.attention.attn
        context = attention.o(attend(attention.q(span), attention.k(words), attention.v(words), bias))
        middle = layer.attention.LayerNorm(context + span)
    elif family == "deberta-v2":
        attention = layer.attention.self
        projected = attention.query_proj(span), attention.key_proj(words), attention.value_proj(words)
        middle = layer.attention.output(attend_disentangled(model, layer, *projected, asking, asked), span)
    else:
        attention = layer.attention.self
        context = attend(attention.query(span), attention.key(words), attention.value(words))
        middle = layer.attention.output(context, span)
    return layer.output(layer.intermediate(middle), middle)


def through(model, span, words):
    """Equation 3 from layer to layer, for one span [d] and its words [k, d] below each."""
    places = range(len(words[0]))
    for layer, below in zip(layers_of(model)[-len(words) :], words, strict=True):
        span = span_block(model, layer, span, below, places, places)
    return span


def paper_span_transformer(model, pool, states, lengths, max_width, pooled=None):
    """Equations 2 and 3: the top states of the wide spans by (sentence, first word, width)."""
    states_of_spans = {}
    pooled = states[0] if pooled is None else pooled
    for sentence, length in enumerate(lengths):
        for k in range(2, min(max_width, length) + 1):
            for i in range(length - k + 1):
                span = aggregate(pool, pooled[sentence, i : i + k])
                states_of_spans[sentence, i, k] = through(model, span, [below[sentence, i : i + k] for below in states])
    return states_of_spans


def in_order(by_span, grid):
    places = zip(grid.sentence.tolist(), grid.first.tolist(), grid.width.tolist(), strict=True)
    rows = [by_span[place] for place in places]
    return torch.stack(rows) if rows else torch.zeros(0, SIZE)


def same_weights(deep, model):
    """The weights of the span Transformer, and those of the encoder that they began as."""
    mine = list(deep.pretrained_parameters())
    if deep.shared:
        mine = [p for layer in layers_of(model)[-len(deep.layers) :] for p in layer.parameters()]
        mine += [] if deep.table is None else list(deep.table.parameters())
    theirs = [next(other for other in model.parameters() if torch.equal(gradient, other)) for gradient in mine]
    return [*mine, *deep.pool.parameters()], [*theirs, *deep.pool.parameters()]


def check(deep, model, lengths, max_width, dtype=torch.float32):
    """Values and gradients against the loop."""
    states, grid = random_states(lengths, len(deep.layers), dtype=dtype), grid_of(lengths, max_width)
    exact = dtype == torch.float64
    span_states = deep.wide_states(states, grid)
    everything = paper_span_transformer(model, deep.pool, states, lengths, max_width)
    assert len(everything) == len(grid)
    expected = in_order(everything, grid)
    near = 1e-10 if exact else 1e-5
    torch.testing.assert_close(span_states, expected, atol=near, rtol=near)
    if not len(grid):
        return
    mine, theirs = same_weights(deep, model)
    probe = torch.randn_like(expected)
    gradients = torch.autograd.grad((span_states * probe).sum(), [*states, *mine])
    wanted = torch.autograd.grad((expected * probe).sum(), [*states, *theirs])
    near = 1e-9 if exact else 1e-4
    for left, right in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(left, right, atol=near, rtol=near)


# equations 2 to 4


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("batch", BATCHES)
def test_wide_spans_equal_the_papers_span_transformer(batch: str, pooling: str, shared: bool):
    model, (lengths, max_width) = pretrained_encoder(), BATCHES[batch]
    check(build_spans(model, max_width, pooling=pooling, shared=shared).eval(), model, lengths, max_width)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_gives_its_own_blocks(family: str):
    model = pretrained_encoder(family)
    check(build_spans(model, 4).eval(), model, [5, 2, 4], 4)


def test_every_family_that_is_announced_is_among_these():
    assert set(FAMILIES) == set(transformer_blocks.FAMILIES)


@pytest.mark.parametrize("budget", [1, 2**30])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_span_of_one_word_may_go_through_the_layers_too(family: str, budget: int):
    model, states = pretrained_encoder(family), random_states([3, 2], LAYERS)
    deep = build_spans(model, 2, single="layers").eval()
    deep.budget = budget  # one word at a time, or all
    span_states = deep.single_states(states)
    for sentence, place in [(0, 0), (0, 2), (1, 1)]:
        span = through(model, states[0][sentence, place], [below[sentence, place : place + 1] for below in states])
        torch.testing.assert_close(span_states[sentence, place], span, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_asked_by_a_word_about_a_sentence_the_loops_block_is_the_encoders_own_layer(family: str):
    """Which shows that the loop above is right about the layers."""
    model, [states] = pretrained_encoder(family), random_states([6], 1)
    layer = layers_of(model)[1]
    added = {"position_bias": model.encoder.compute_position_bias(states)} if family == "mpnet" else {}
    added = disentangled_inputs(model, states) if family == "deberta-v2" else added
    check_asked_by_words(model, layer, states, added)


def disentangled_inputs(model, states):
    """What DeBERTa gives its layers beside their states."""
    return {
        "attention_mask": model.encoder.get_attention_mask(torch.ones(states.shape[:2])),
        "relative_pos": model.encoder.get_rel_pos(states),
        "rel_embeddings": model.encoder.get_rel_embedding(),
    }


def check_asked_by_words(model, layer, states, added, near=1e-5):
    """The loop's block for each word of a sentence [1, T, d], against a Hugging Face layer."""
    whole = layer(states, **added)
    whole = whole[0] if isinstance(whole, tuple) else whole
    places = range(len(states[0]))
    loop = [span_block(model, layer, word, states[0], [place], places) for place, word in enumerate(states[0])]
    torch.testing.assert_close(torch.stack(loop), whole.view_as(states[0]), atol=near, rtol=near)


@pytest.mark.parametrize("kind", DEBERTAS)
@torch.no_grad()
def test_asked_by_a_word_the_loop_is_debertas_own_disentangled_attention(kind: str):
    """As far as its divisor of the scores is exact, which is in single precision."""
    model, [states] = (
        pretrained_encoder("deberta-v2", **DEBERTAS[kind]).double(),
        random_states([9], 1, dtype=torch.float64),
    )
    check_asked_by_words(model, layers_of(model)[1], states, disentangled_inputs(model, states), 1e-6)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", DEBERTAS)
def test_spans_over_deberta_have_the_mean_of_their_words_places(kind: str, shared: bool):
    """In double precision; of spans of up to 8 words the far ones share buckets."""
    model = pretrained_encoder("deberta-v2", **DEBERTAS[kind]).double()
    check(build_spans(model, 8, shared=shared).double().eval(), model, [9, 3], 8, torch.float64)


@pytest.mark.parametrize("depth", [1, 2])
def test_debertas_table_of_places_is_copied_once_for_all_layers(depth: int):
    model = pretrained_encoder("deberta-v2")
    deep, shared = build_spans(model, 3, depth=depth), build_spans(model, 3, depth=depth, shared=True)
    assert shared.table.embeddings is model.encoder.rel_embeddings
    assert not [name for name in shared.state_dict() if not name.startswith("projection.")]
    names = [name for name in deep.state_dict() if "table" in name]
    assert names == ["copied_table.embeddings.weight", "copied_table.norm.weight", "copied_table.norm.bias"]
    assert deep.table.embeddings.weight is not model.encoder.rel_embeddings.weight
    assert {id(p) for p in deep.table.parameters()} <= {id(p) for p in deep.pretrained_parameters()}


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_spans_over_deberta_may_be_computed_in_half_precision(precision: torch.dtype):
    lengths = [9, 3, 1]
    deep, grid, states = (
        build_spans(pretrained_encoder("deberta-v2"), 5).eval(),
        grid_of(lengths, 5),
        random_states(lengths, LAYERS),
    )
    with torch.autocast("cpu", precision):
        half = deep.wide_states(states, grid)
    torch.testing.assert_close(half.float(), deep.wide_states(states, grid), atol=0.3, rtol=0.1)
    gradients = torch.autograd.grad(half.float().square().sum(), [*states, *deep.pretrained_parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_convolution_over_words_is_refused_and_the_layers_above_it_are_not():
    """DeBERTa-v2-xlarge has one after its first layer."""
    model = pretrained_encoder("deberta-v2", conv_kernel_size=3)
    with pytest.raises(ConfigError, match=rf"convolution over words.*representation\.depth to {LAYERS - 1} or less"):
        build_spans(model, 3)
    check(build_spans(model, 3, depth=LAYERS - 1).eval(), model, [4, 3], 3)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("depth", range(1, LAYERS + 1))
def test_fewer_layers_are_the_highest_ones(depth: int, shared: bool):
    model = pretrained_encoder()
    deep = build_spans(model, 3, depth=depth, shared=shared).eval()
    assert len(deep.layers) == depth
    check(deep, model, [4, 3], 3)


@pytest.mark.parametrize("words", [2, 3, 16, 17, 18, 19, 41])
def test_first_words_ask_in_groups(words: int):
    """One group, one that is just full, and several, the last of which reaches beyond the sentence."""
    model = pretrained_encoder()
    deep = build_spans(model, 8).eval()
    assert span_transformer.group_size(7) == 17
    check(deep, model, [words, 5], 8)


@pytest.mark.parametrize("together", [1, 19, 99])
@pytest.mark.parametrize("lengths", [[3, 2], [17, 5], [21]], ids=["shorter than K", "one group", "two groups"])
@pytest.mark.parametrize("family", ["mpnet", "deberta-v2"])
def test_relative_places_are_those_within_a_span(family: str, lengths: list[int], together: int):
    """Of one first word at a time, of parts with more than a group, and of all."""
    model, grid = pretrained_encoder(family), grid_of(lengths, 8)
    deep = build_spans(model, 8, depth=1).eval()
    deep.budget = together * span_transformer.span_bytes(deep.layers, grid.widths) * len(lengths) * grid.widths
    check(deep, model, lengths, 8)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("share", [0, 0.4])
def test_parts_equal_the_whole(share: float, training: bool, pooling: str, shared: bool, monkeypatch):
    """In training a part is computed a second time on the way back; without dropout that changes nothing."""
    model, lengths = pretrained_encoder(), [5, 1, 7, 2]
    monkeypatch.setattr(
        span_transformer, "weight_bytes", lambda _: 0
    )  # those of so small a span Transformer are the larger
    deep = build_spans(model, 4, pooling=pooling, shared=shared, dropout=0.0).train(training)
    grid, [states] = grid_of(lengths, 4), random_states(lengths, 1)
    whole = span_transformer.span_bytes(deep.layers, grid.widths) * len(lengths) * grid.starts * grid.widths
    deep.budget = int(share * whole)
    assert len(deep._parts(states, grid.starts, grid.widths)) == (6 if share == 0 else 3)
    check(deep, model, lengths, 4)


def test_parts_leave_room_for_the_gradients_that_are_added_up_over_them(monkeypatch: pytest.MonkeyPatch):
    deep, grid, [states] = (
        build_spans(pretrained_encoder(), 4),
        grid_of([5, 1, 7, 2], 4),
        random_states([5, 1, 7, 2], 1),
    )
    weights = span_transformer.weight_bytes(deep.layers)
    assert weights == 4 * sum(weight.numel() for weight in deep.pretrained_parameters())
    bytes_of_word = (
        span_transformer.span_bytes(deep.layers, grid.widths) * 4 * grid.widths
    )  # first word of the four sentences

    def parts(budget: int) -> int:
        deep.budget = budget
        return len(deep._parts(states, grid.starts, grid.widths))

    monkeypatch.setattr(span_transformer, "weight_bytes", lambda _: 2 * bytes_of_word)
    assert grid.starts == 6
    assert [parts(count * bytes_of_word) for count in (6, 5, 4, 3, 2, 1)] == [1, 2, 3, 6, 6, 6]
    with torch.no_grad():
        assert parts(5 * bytes_of_word) == 1  # no gradients, and one layer at a time


def test_parts_drop_the_same_states_on_the_way_back(monkeypatch: pytest.MonkeyPatch):
    lengths = [5, 1, 7, 2]
    deep = build_spans(pretrained_encoder(), 4, dropout=0.5).train()
    deep.budget = 1

    def gradients():
        torch.manual_seed(3)
        states = random_states(lengths, LAYERS)
        torch.manual_seed(4)
        span_states = deep.wide_states(states, grid_of(lengths, 4))
        return torch.autograd.grad((span_states * torch.arange(SIZE)).sum(), [*states, *deep.pretrained_parameters()])

    again = gradients()
    monkeypatch.setattr(span_transformer, "checkpoint", lambda call, *arguments, **_: call(*arguments))
    for left, right in zip(again, gradients(), strict=True):
        torch.testing.assert_close(left, right)


def count_kept_bytes(model_input, call):
    """Bytes that a call keeps for its way back, beside what it was given and weights."""
    given = {leaf.untyped_storage().data_ptr() for leaf in model_input}
    storages = {}

    def see(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            storages[storage.data_ptr()] = (storage.nbytes(), storage)  # held, so that no address comes twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(see, lambda tensor: tensor):
        call()
    return sum(size for size, _ in storages.values())


@pytest.mark.parametrize(("lengths", "max_width"), [([40] * 4, 10), ([60, 60], 25), ([30, 20, 9, 3], 2)])
@pytest.mark.parametrize("family", ["bert", "mpnet", "deberta-v2"])
def test_what_a_layer_keeps_is_no_more_than_is_counted_for_it(family: str, lengths: list[int], max_width: int):
    deep, grid = build_spans(pretrained_encoder(family), max_width).train(), grid_of(lengths, max_width)
    states = random_states(lengths, LAYERS)
    counted = span_transformer.span_bytes(deep.layers, grid.widths) * len(lengths) * grid.starts * grid.widths
    kept_bytes = count_kept_bytes([*states, *deep.parameters()], lambda: deep.wide_states(states, grid))
    assert 0.3 * counted < kept_bytes < counted


@pytest.mark.parametrize(("alone", "words", "max_width"), [(False, 40, 6), (True, 200, 2)], ids=["wide", "alone"])
def test_with_a_small_budget_little_is_kept_for_the_way_back(alone: bool, words: int, max_width: int):
    lengths = [words, words]
    grid, states = grid_of(lengths, max_width), random_states(lengths, LAYERS)

    def size(megabytes):
        deep = build_spans(pretrained_encoder(), max_width, budget_mb=megabytes).train()
        return count_kept_bytes(
            [*states, *deep.parameters()],
            lambda: deep.single_states(states) if alone else deep.wide_states(states, grid),
        )

    assert 10 * size(1) < size(8192)


def dropping(states, p=0.5, training=True, inplace=False):
    """A dropout without chance: it drops what is below 0."""
    return states.relu() / (1 - p) if training and p else states


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
@torch.no_grad()
def test_spans_drop_what_they_pool_and_what_the_encoders_own_layers_drop(
    family: str, training: bool, monkeypatch: pytest.MonkeyPatch
):
    model, lengths = pretrained_encoder(family).train(training), [5, 1, 4]
    rate, attention = model.config.hidden_dropout_prob, functional.scaled_dot_product_attention
    deep = build_spans(model, 3, pooling="mean", dropout=rate).train(training)
    states, grid = random_states(lengths, LAYERS), grid_of(lengths, 3)
    monkeypatch.setattr(functional, "dropout", dropping)
    monkeypatch.setattr(
        functional, "scaled_dot_product_attention", lambda *given, dropout_p, **more: attention(*given, **more)
    )
    pooled = dropping(states[0], rate, training)
    expected = paper_span_transformer(model, deep.pool, states, lengths, 3, pooled)
    torch.testing.assert_close(deep.wide_states(states, grid), in_order(expected, grid), atol=1e-5, rtol=1e-5)
    word = through(model, pooled[2, 3], [below[2, 3:4] for below in states])
    torch.testing.assert_close(deep.single_states(states)[2, 3], word, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("family", ["bert", "mpnet", "deberta-v2"])
@torch.no_grad()
def test_only_training_drops_words_that_a_span_sees(family: str, training: bool, monkeypatch: pytest.MonkeyPatch):
    lengths = [5, 3]
    deep, grid = build_spans(pretrained_encoder(family), 3).train(training), grid_of(lengths, 3)
    states = random_states(lengths, LAYERS)
    monkeypatch.setattr(functional, "dropout", lambda states, *_: states)
    assert torch.equal(deep.wide_states(states, grid), deep.wide_states(states, grid)) != training


def test_a_span_of_padding_changes_no_gradient():
    lengths = [6, 2]
    deep, states = build_spans(pretrained_encoder(), 4).eval(), random_states(lengths, LAYERS)
    deep.wide_states(states, grid_of(lengths, 4)).sum().backward()
    for layer in states:
        assert layer.grad[1, 2:].abs().sum() == 0
        assert layer.grad[1, :2].abs().sum() > 0


def test_an_encoder_of_another_kind_is_refused():
    tiny = transformers.AlbertConfig(
        hidden_size=8, embedding_size=8, num_attention_heads=2, intermediate_size=8, vocab_size=9, num_hidden_layers=1
    )
    with pytest.raises(ConfigError, match=r"'albert'; supported: bert, .*distilbert, electra, .*mpnet, roberta"):
        build_spans(transformers.AlbertModel(tiny), 3)


@pytest.mark.parametrize("depth", [0, LAYERS + 1, -1])
def test_a_depth_that_the_encoder_does_not_have_is_refused(depth: int):
    with pytest.raises(ConfigError, match=rf"depth is {depth} and the encoder has {LAYERS} layers"):
        build_spans(pretrained_encoder(), 3, depth=depth)


def test_without_a_pretrained_encoder_there_are_no_deep_spans():
    with pytest.raises(ConfigError, match=r"encoder\.transformer\.name"):
        SpanTransformer(SpanTransformerSettings(), SimpleNamespace(transformer=None), 3)


@pytest.mark.parametrize("part", ["highway", "bilstm"])
def test_parts_of_the_encoder_that_deep_spans_would_not_read_are_refused(folder: Path, part: str):
    with pytest.raises(ConfigError, match=r"encoder\.highway and encoder\.bilstm"):
        SpanTransformer.build(SpanTransformerSettings(), encoder_from(folder, part), 3)


# equations 4 and 5, and what follows a span


def batch_of(lengths):
    lengths = torch.tensor(lengths)
    steps = torch.arange(int(lengths.max()))
    rows = torch.zeros(len(lengths), len(steps), dtype=torch.long)
    return Batch(None, torch.arange(len(lengths)), lengths, rows, steps < lengths[:, None])  # type: ignore[arg-type]


def random_encoded(lengths, beside=0):
    layers = random_states(lengths, LAYERS + 1)
    features = {"transformer": layers[-1]}
    if beside:
        features["characters"] = random_states(lengths, 1, beside, seed=2)[0]
    return Encoded(batch_of(lengths), features, tuple(layers), torch.cat(list(features.values()), dim=-1))


def lstm(cell, sequence):
    """One direction, one step at a time."""
    hidden = memory = torch.zeros(cell.hidden_size)
    out = []
    for x in sequence:
        gates = cell.weight_ih_l0 @ x + cell.bias_ih_l0 + cell.weight_hh_l0 @ hidden + cell.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * memory.tanh()
        out.append(hidden)
    return out


def read_along(recurrent, sequence):
    """A stacked BiLSTM over one sequence alone."""
    for onwards, back in zip(recurrent.forwards, recurrent.backwards, strict=True):
        ahead, behind = lstm(onwards, sequence), lstm(back, sequence[::-1])[::-1]
        sequence = [torch.cat(both) for both in zip(ahead, behind, strict=True)]
    return sequence


def pre_logits(reader, spans, lengths, max_width, linear=False, before=0.0, after=0.0):
    """Equation 5 by (sentence, first, width), after a BiLSTM along the spans of each width where there is one."""
    states_of_spans = {}
    for sentence, length in enumerate(lengths):
        for k in range(1, min(max_width, length) + 1):
            row = [spans[sentence, i, k] for i in range(length - k + 1)]
            if reader.words is not None:
                row = read_along(reader.words if k == 1 else reader.wide, row)
            for i, span in enumerate(row):
                if reader.widths is not None:
                    span = torch.cat([span, reader.widths.weight[k - 1]])
                reduced = reader.reduce.weight @ dropping(span, before) + reader.reduce.bias
                states_of_spans[sentence, i, k] = dropping(reduced if linear else torch.relu(reduced), after)
    return states_of_spans


def check_vectors(vectors, expected, lengths, max_width):
    candidates = enumerate_spans(torch.tensor(lengths), max_width)
    assert len(candidates) == len(expected) == len(vectors)
    places = zip(candidates.sentence, candidates.first, candidates.stop - candidates.first, strict=True)
    rows = torch.stack([expected[tuple(map(int, place))] for place in places])
    torch.testing.assert_close(vectors, rows, atol=1e-5, rtol=1e-5)
    assert rows.abs().sum() > 0


def one_word_spans(states, lengths):
    """Equation 4."""
    return {(m, i, 1): states[m, i] for m, length in enumerate(lengths) for i in range(length)}


def pooled_spans(pool, states, lengths, max_width):
    """Appendix A, of all wide spans."""
    return {
        (m, i, k): aggregate(pool, states[m, i : i + k])
        for m, length in enumerate(lengths)
        for k in range(2, max_width + 1)
        for i in range(length - k + 1)
    }


READERS = {
    "width embeddings": SpanProjectionSettings(size=5, width_size=3),
    "nothing": SpanProjectionSettings(size=5, width_size=0),
    "no activation": SpanProjectionSettings(size=5, width_size=3, activation="linear"),
    "a BiLSTM": SpanProjectionSettings(size=5, width_size=3, bilstm=BiLSTMSettings(layers=1, size=4)),
    "two BiLSTMs": SpanProjectionSettings(size=5, width_size=3, bilstm=BiLSTMSettings(layers=2, size=3)),
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("reader", READERS)
@torch.no_grad()
def test_deep_vectors_equal_the_papers_equations(reader: str, batch: str):
    model, (lengths, max_width) = pretrained_encoder(), BATCHES[batch]
    deep, given = build_spans(model, max_width, reader=READERS[reader]).eval(), random_encoded(lengths)
    spans = paper_span_transformer(model, deep.pool, given.layers[:-1], lengths, max_width)
    spans |= one_word_spans(given.layers[-1], lengths)
    vectors = deep(given, enumerate_spans(torch.tensor(lengths), max_width))
    expected = pre_logits(deep.projection, spans, lengths, max_width, linear=reader == "no activation")
    check_vectors(vectors, expected, lengths, max_width)


@pytest.mark.parametrize("depth", [1, 2])
@torch.no_grad()
def test_a_shallower_span_transformer_begins_in_the_middle_of_the_encoder(depth: int):
    model, lengths = pretrained_encoder(), [4, 2]
    deep, given = build_spans(model, 3, depth=depth).eval(), random_encoded(lengths)
    spans = paper_span_transformer(model, deep.pool, given.layers[-depth - 1 : -1], lengths, 3)
    spans |= one_word_spans(given.layers[-1], lengths)
    vectors = deep(given, enumerate_spans(torch.tensor(lengths), 3))
    check_vectors(vectors, pre_logits(deep.projection, spans, lengths, 3), lengths, 3)


@torch.no_grad()
def test_features_beside_the_transformer_go_with_words_and_their_maximum_with_wide_spans():
    model, lengths = pretrained_encoder(), [5, 1, 3]
    deep, given = build_spans(model, 3, beside=4).eval(), random_encoded(lengths, beside=4)
    characters = given.features["characters"]
    spans = {
        (m, i, k): torch.cat([span, characters[m, i : i + k].amax(0)])
        for (m, i, k), span in paper_span_transformer(model, deep.pool, given.layers[:-1], lengths, 3).items()
    }
    spans |= one_word_spans(torch.cat([given.layers[-1], characters], dim=-1), lengths)
    vectors = deep(given, enumerate_spans(torch.tensor(lengths), 3))
    check_vectors(vectors, pre_logits(deep.projection, spans, lengths, 3), lengths, 3)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("batch", BATCHES)
@torch.no_grad()
def test_shallow_spans_equal_the_papers_aggregating_functions(batch: str, pooling: str):
    torch.manual_seed(0)
    lengths, max_width = BATCHES[batch]
    reader = READERS["a BiLSTM"]
    shallow = Pooling(PoolingSettings(pooling=pooling, projection=reader), SIZE, max_width).eval()
    given = random_encoded(lengths)
    spans = pooled_spans(shallow.pool, given.states, lengths, max_width) | one_word_spans(given.states, lengths)
    vectors = shallow(given, enumerate_spans(torch.tensor(lengths), max_width))
    check_vectors(vectors, pre_logits(shallow.projection, spans, lengths, max_width), lengths, max_width)


@pytest.mark.parametrize(
    ("pooled", "before", "after"),
    [(0.2, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.3)],
    ids=["the words that are pooled", "what is reduced", "the vectors"],
)
@torch.no_grad()
def test_shallow_spans_drop_in_training(pooled: float, before: float, after: float, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    lengths, given = [5, 1, 4], random_encoded([5, 1, 4])
    reader = SpanProjectionSettings(size=5, width_size=3, activation="linear", dropout=before, vector_dropout=after)
    shallow = Pooling(PoolingSettings(pooling="mean", dropout=pooled, projection=reader), SIZE, 3).train()
    torch.nn.init.normal_(shallow.projection.reduce.bias)
    monkeypatch.setattr(functional, "dropout", dropping)
    spans = pooled_spans(shallow.pool, dropping(given.states, pooled), lengths, 3)
    spans |= one_word_spans(given.states, lengths)  # of which none is pooled
    vectors = shallow(given, enumerate_spans(torch.tensor(lengths), 3))
    check_vectors(vectors, pre_logits(shallow.projection, spans, lengths, 3, True, before, after), lengths, 3)


@torch.no_grad()
def test_attention_over_large_scores_stays_finite():
    shallow = Pooling(PoolingSettings(pooling="additive", projection=READERS["nothing"]), SIZE, 4).eval()
    shallow.pool.attention.outer.mul_(1000)
    vectors = shallow(random_encoded([6, 2]), enumerate_spans(torch.tensor([6, 2]), 4))
    assert vectors.isfinite().all()


@pytest.mark.parametrize("shared", [False, True])
def test_only_training_is_random(shared: bool):
    lengths = [5, 2]
    deep, given = (
        build_spans(pretrained_encoder(), 3, shared=shared, reader=READERS["a BiLSTM"]),
        random_encoded(lengths),
    )
    candidates = enumerate_spans(torch.tensor(lengths), 3)
    deep.eval()
    assert torch.equal(deep(given, candidates), deep(given, candidates))
    deep.train()
    assert not torch.equal(deep(given, candidates), deep(given, candidates))


# equations 6 and 7, and the biaffine head of appendix D


def query_of(vectors):
    query = Query(network=SimpleNamespace(bottleneck=None), batch=None)
    query.vectors = vectors
    return query


def test_equation_6_is_a_softmax_with_a_row_and_a_bias_for_null_too():
    torch.manual_seed(0)
    head = SoftmaxHead.build(SoftmaxSettings(null="learned", bias=True), HeadInputs(labels=2, span_size=4, word_size=4))
    torch.nn.init.normal_(head.bias)
    vectors = torch.randn(3, 4)
    expected = torch.stack([(head.weight @ z + head.bias).exp() for z in vectors])
    torch.testing.assert_close(head.predict_proba(query_of(vectors)), expected / expected.sum(1, keepdim=True))


def test_the_loss_is_the_cross_entropy_with_soft_targets():
    torch.manual_seed(1)
    head = SoftmaxHead.build(SoftmaxSettings(null="learned", bias=True), HeadInputs(labels=2, span_size=4, word_size=4))
    vectors, targets = torch.randn(5, 4), torch.rand(5, 3).softmax(1)
    expected = -sum(
        target * probability.log()
        for row, probabilities in zip(targets, head.predict_proba(query_of(vectors)), strict=True)
        for target, probability in zip(row, probabilities, strict=True)
    )
    torch.testing.assert_close(head.loss(SimpleNamespace(vectors=vectors), Targets(spans=targets)), expected)


def read_ends(ends, first, last, before=0.0, after=0.0):
    """A layer for each end, over the states [d] of a span's first and last word."""
    layers = zip(ends.ends.weight.chunk(2), ends.ends.bias.chunk(2), (first, last), strict=True)
    return [dropping(torch.relu(weight @ dropping(word, before) + bias), after) for weight, bias, word in layers]


@pytest.mark.parametrize("width_size", [0, 3])
@torch.no_grad()
def test_the_biaffine_head_equals_its_formula_span_by_span(width_size: int):
    torch.manual_seed(0)
    lengths, given = [5, 1, 3], random_encoded([5, 1, 3])
    ends = EndpointMLP(EndpointMLPSettings(end_size=4, width_size=width_size), SIZE, 3).eval()
    head = BiaffineHead.build(BiaffineSettings(), HeadInputs(2, ends.size, SIZE, end_size=ends.end_size))
    for parameter in (*ends.parameters(), *head.parameters()):
        torch.nn.init.normal_(parameter)
    candidates = enumerate_spans(torch.tensor(lengths), 3)
    scores = head.scores(ends(given, candidates))
    places = zip(candidates.sentence.tolist(), candidates.first.tolist(), candidates.stop.tolist(), strict=True)
    for row, (m, i, j) in zip(scores, places, strict=True):
        a, b = read_ends(ends, given.states[m, i], given.states[m, j - 1])
        whole = torch.cat([a, b, ends.widths.weight[j - i - 1]] if width_size else [a, b])
        for y in range(3):
            score = a @ head.between[y] @ b + head.linear.weight[y] @ whole + head.linear.bias[y]
            torch.testing.assert_close(row[y], score, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("before", "after"), [(0.4, 0.0), (0.0, 0.2)], ids=["the states", "the ends"])
@torch.no_grad()
def test_ends_drop_in_training(before: float, after: float, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    lengths, given = [5, 1, 3], random_encoded([5, 1, 3])
    settings = EndpointMLPSettings(end_size=4, width_size=3, dropout=before, end_dropout=after)
    ends = EndpointMLP(settings, SIZE, 3).train()
    torch.nn.init.normal_(ends.ends.bias)
    monkeypatch.setattr(functional, "dropout", dropping)
    candidates = enumerate_spans(torch.tensor(lengths), 3)
    places = zip(candidates.sentence.tolist(), candidates.first.tolist(), candidates.stop.tolist(), strict=True)
    for row, (m, i, j) in zip(ends(given, candidates), places, strict=True):
        both = read_ends(ends, given.states[m, i], given.states[m, j - 1], before, after)
        expected = torch.cat([*both, ends.widths.weight[j - i - 1]])
        torch.testing.assert_close(row, expected, atol=1e-5, rtol=1e-5)


def test_the_biaffine_head_wants_ends():
    with pytest.raises(ConfigError, match=r'representation\.kind to "endpoint_mlp"'):
        BiaffineHead.build(BiaffineSettings(), HeadInputs(labels=2, span_size=9, word_size=9))


# the weights: where they come from, how they learn, how they are kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, wordpiece_bert) -> Path:
    """A pretrained encoder on disk, with a tokenizer that knows letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return wordpiece_bert(tmp_path_factory.mktemp("bert"), [*letters, *(f"##{letter}" for letter in letters)], shape())


def recipe(folder: Path, *settings: str):
    tiny = (
        f"encoder.transformer.name={folder}",
        "suggester.max_width=3",
        "representation.projection.size=6",
        "representation.projection.bilstm.size=4",
        "training.batch=4",
        "training.epochs=1",
    )
    return nearspan.recipe("dspert").override([*tiny, *settings])


@pytest.fixture(scope="module", params=[False, True], ids=["separate", "shared"])
def trained(request: pytest.FixtureRequest, folder: Path, documents, tmp_path_factory: pytest.TempPathFactory):
    """A trained model, its folder, and whether its weights are shared."""
    out = tmp_path_factory.mktemp("models") / "deep"
    shared = f"representation.shared={str(request.param).lower()}"
    run = nearspan.train(recipe(folder, shared), documents, documents, out=out, device="cpu")
    return run.model, out, request.param


def test_shared_weights_are_kept_once_and_separate_ones_twice(trained):
    model, out, shared = trained
    names = list(load_file(out / "model.safetensors"))
    copies = [name for name in names if ".copies." in name]
    layers = sum(p.numel() for p in model.network.encoder.transformer.encoder.encoder.layer.parameters())
    assert len(copies) == (0 if shared else 16 * LAYERS)
    assert sum(p.numel() for p in model.network.representation.copies.parameters()) == (0 if shared else layers)
    assert len({id(p) for p in model.network.parameters()}) == len(list(model.network.parameters()))


@torch.no_grad()
def test_a_model_is_the_same_after_loading(trained, documents):
    model, out, _ = trained
    loaded = nearspan.load(out, device="cpu")
    assert set(loaded.network.state_dict()) == set(model.network.state_dict())
    model.network.eval()
    vectors = []
    for each_model in (model, loaded):
        sentences = [sentence for document in documents for sentence in nearspan.segment.split(document)]
        vectors.append(Query(each_model.network, each_model.encode(sentences).batch(torch.arange(5))).vectors)
    assert torch.equal(*vectors)


def test_shared_layers_stay_the_encoders_own_after_loading(trained):
    _, out, shared = trained
    network = nearspan.load(out, device="cpu").network
    encoder = network.encoder.transformer.encoder.encoder.layer
    for block, layer in zip(network.representation.layers, encoder, strict=True):
        assert (block.query is layer.attention.self.query) == shared


def test_an_encoder_kept_in_half_precision_comes_back_in_full(folder: Path, documents, tmp_path: Path):
    half = tmp_path / "half"
    transformers.AutoModel.from_pretrained(folder).half().save_pretrained(half)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(half)
    trained = nearspan.train(recipe(half), documents[:4], out=tmp_path / "model", device="cpu").model
    loaded = nearspan.load(tmp_path / "model", device="cpu")
    for name, weights in trained.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], weights), name


def encoder_from(folder: Path, *parts: str) -> Encoder:
    chosen = {"transformer": {"name": str(folder), "frozen": False}, **{part: {} for part in parts}}
    return Encoder.from_corpus(EncoderSettings.model_validate(chosen), [], [])


def test_copies_begin_as_the_encoders_weights_and_are_others(folder: Path):
    encoder = encoder_from(folder)
    deep = SpanTransformer.build(SpanTransformerSettings(), encoder, 3)
    for block, layer in zip(deep.layers, layers_of(encoder.transformer.encoder), strict=True):
        for mine, theirs in (
            (block.query, layer.attention.self.query),
            (block.key, layer.attention.self.key),
            (block.value, layer.attention.self.value),
            (block.out, layer.attention.output.dense),
            (block.middle, layer.attention.output.LayerNorm),
            (block.up, layer.intermediate.dense),
            (block.down, layer.output.dense),
            (block.end, layer.output.LayerNorm),
        ):
            assert torch.equal(mine.weight, theirs.weight)
            assert torch.equal(mine.bias, theirs.bias)
            assert mine.weight is not theirs.weight


def test_copies_learn_at_the_encoders_rate(trained):
    model, _, shared = trained
    pretrained = set(model.network.pretrained_parameters())
    assert set(model.network.encoder.transformer.parameters()) <= pretrained
    assert {p for block in model.network.representation.layers for p in block.parameters()} <= pretrained
    assert not pretrained & set(model.network.representation.projection.parameters())
    assert bool(model.network.representation.pretrained_parameters()) != shared


def test_over_a_frozen_encoder_the_copies_learn_and_the_encoder_does_not(folder: Path, documents, tmp_path: Path):
    frozen = recipe(folder, "encoder.transformer.frozen=true", "encoder.transformer.learning_rate=0.01")
    network = nearspan.train(frozen, documents, out=tmp_path / "m", device="cpu").model.network
    before = transformers.AutoModel.from_pretrained(folder)
    for name, weights in network.encoder.transformer.encoder.named_parameters():
        assert torch.equal(weights, before.get_parameter(name)), name
    for block, began in zip(network.representation.layers, transformer_blocks.blocks(before), strict=True):
        for part in ("query", "key", "value", "out", "middle", "up", "down", "end"):
            assert not torch.equal(getattr(block, part).weight, getattr(began, part).weight), part
