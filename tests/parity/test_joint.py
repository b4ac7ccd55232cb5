"""The bottleneck, ends with mean, and sigmoids (Nguyen et al., 2023) against loops from the paper's text.

The generators are checked in test_generation.py.
"""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.distributions import Normal, kl_divergence

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError
from nearspan.heads import HeadInputs, Query, SigmoidHead, Targets
from nearspan.heads.sigmoid import SigmoidSettings
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.segment import split
from nearspan.spans import Bottleneck, BottleneckSettings, Gaussian, enumerate_spans
from nearspan.spans.endpoint_mean import EndpointMean, EndpointMeanSettings
from nearspan.spans.span_means import split_layer
from nearspan.training.data import TrainingData
from nearspan.training.thresholds import best_threshold

JOINT = ("representation.kind=endpoint_mean", "bottleneck.size=6", "head.kind=sigmoid")


def query_of(vectors: torch.Tensor) -> Query:
    """A query with span vectors alone."""
    query = Query(network=SimpleNamespace(bottleneck=None), batch=None)
    query.vectors = vectors
    return query


def sigmoid_head(span_size: int, labels: int, **settings: float) -> SigmoidHead:
    return SigmoidHead.build(SigmoidSettings(**settings), HeadInputs(labels, span_size, word_size=span_size))


# Equation 1


@pytest.mark.parametrize("max_width", [1, 2, 4, 9])
def test_a_span_is_its_ends_and_its_mean(max_width: int):
    torch.manual_seed(0)
    lengths = torch.tensor([5, 1, 3])
    states = 100 + torch.randn(3, 5, 4)
    encoded = SimpleNamespace(states=states, batch=SimpleNamespace(lengths=lengths))
    spans = EndpointMean.build(EndpointMeanSettings(dropout=0), SimpleNamespace(size=4), max_width)
    candidates = enumerate_spans(lengths, max_width)
    vectors = spans(encoded, candidates)
    assert vectors.shape == (len(candidates), spans.size)
    for row, m, first, stop in zip(vectors, candidates.sentence, candidates.first, candidates.stop, strict=True):
        words = [states[m, t].double() for t in range(first, stop)]
        expected = torch.cat([words[0], sum(words) / len(words), words[-1]])
        torch.testing.assert_close(row.double(), expected, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("max_width", [1, 3, 9])
@torch.no_grad()
def test_a_layer_of_a_span_is_a_sum_of_what_it_makes_of_words(max_width: int):
    torch.manual_seed(0)
    lengths = torch.tensor([5, 1, 3])
    encoded = SimpleNamespace(states=torch.randn(3, 5, 4), batch=SimpleNamespace(lengths=lengths))
    spans = EndpointMean.build(EndpointMeanSettings(), SimpleNamespace(size=4), max_width).eval()
    candidates, layer = enumerate_spans(lengths, max_width), torch.nn.Linear(12, 7)
    means = spans.span_means(encoded, candidates)
    of_words = split_layer(layer)(means.words)
    expected = layer(spans(encoded, candidates))
    torch.testing.assert_close(means.gather(of_words, 0, len(means)), expected)
    torch.testing.assert_close(means.gather(of_words, 2, 4), expected[2:4])
    assert means.gather(of_words, 2, 2).shape == (0, 7)


@pytest.mark.parametrize("sentences", [1, 40])
def test_a_head_reads_a_bottleneck_as_if_its_vectors_were_made(tiny, data, sentences: int):
    model = Model.from_corpus(tiny("classifier", *JOINT), data.sentences, data.labels)
    batch = model.encode(data.sentences[:1] * sentences).batch(torch.arange(sentences))
    query, weight, bias = Query(model.network, batch), torch.randn(3, 6), torch.randn(3)
    with torch.inference_mode():
        spans = model.network.representation(query.encoded, query.candidates)
        expected = model.network.bottleneck(spans).mean @ weight.T + bias
        torch.testing.assert_close(query.linear(weight, bias), expected)
        assert "vectors" not in vars(query)
        torch.testing.assert_close(query.with_vectors(query.vectors).linear(weight, bias), expected)


def test_the_gradient_reaches_each_word_of_a_span():
    states = torch.randn(1, 4, 2, requires_grad=True)
    encoded = SimpleNamespace(states=states, batch=SimpleNamespace(lengths=torch.tensor([4])))
    candidates = enumerate_spans(torch.tensor([4]), 3)
    spans = EndpointMean.build(EndpointMeanSettings(dropout=0), SimpleNamespace(size=2), 3)
    vectors = spans(encoded, candidates)
    wanted = ((candidates.first == 0) & (candidates.stop == 3)).nonzero().item()
    vectors[wanted].sum().backward()
    torch.testing.assert_close(states.grad[0, :, 0], torch.tensor([4 / 3, 1 / 3, 4 / 3, 0]))


# Equation 6


def test_the_divergence_is_that_of_torch():
    torch.manual_seed(0)
    gaussian = Gaussian(torch.randn(7, 5), torch.rand(7, 5) + 0.1)
    prior = Gaussian(torch.randn(5), torch.rand(5) + 0.1)
    expected = kl_divergence(Normal(gaussian.mean, gaussian.deviation), Normal(prior.mean, prior.deviation)).sum(1)
    torch.testing.assert_close(gaussian.divergence(prior), expected)
    assert Gaussian(prior.mean[None], prior.deviation[None]).divergence(prior).item() == pytest.approx(0, abs=1e-6)


def paper_loss(vectors, noise, bottleneck, head, targets, beta):
    """One span, one draw, one label and one dimension at a time."""
    layers = [layer for layer in bottleneck.layers if isinstance(layer, torch.nn.Linear)]
    prior_mean, prior_deviation = bottleneck.prior_mean, softplus(bottleneck.prior_spread)
    total = torch.zeros((), dtype=vectors.dtype)
    for i, vector in enumerate(vectors):
        hidden = vector
        for layer in layers:
            hidden = (layer.weight @ hidden + layer.bias).relu()
        mean = bottleneck.mean.weight @ hidden + bottleneck.mean.bias
        deviation = softplus(bottleneck.spread.weight @ hidden + bottleneck.spread.bias)
        for d in range(len(mean)):
            a, b, c, e = mean[d], deviation[d], prior_mean[d], prior_deviation[d]
            total = total + beta * (torch.log(e / b) + (b**2 + (a - c) ** 2) / (2 * e**2) - 0.5)
        for draw in noise:
            z = mean + deviation * draw[i]
            for y in range(targets.shape[1]):
                yes = 1 / (1 + torch.exp(-(head.weight[y] @ z + head.bias[y])))
                wrong = yes if not targets[i, y] else 1 - yes
                total = total - torch.log(1 - wrong) / len(noise)
    return total


def softplus(given):
    return torch.log1p(given.exp()) + 1e-6


@pytest.fixture
def parts():
    """A bottleneck, a head, span vectors and labels that some spans have none and some have two of; in double."""
    torch.manual_seed(0)
    bottleneck = Bottleneck(BottleneckSettings(size=3, beta=0.2, growing=False, samples=4), 5)
    head = sigmoid_head(span_size=3, labels=2)
    torch.nn.init.normal_(bottleneck.prior_mean)
    torch.nn.init.normal_(bottleneck.prior_spread)
    targets = torch.tensor([[1, 0, 0], [0, 1, 1], [0, 0, 1.0]])
    return bottleneck.double(), head.double(), torch.randn(3, 5).double(), targets.double()


def our_loss(bottleneck, head, vectors, targets):
    distribution = bottleneck(vectors)
    losses = [head.loss(query_of(z), Targets(spans=targets.float())) for z in bottleneck.samples(distribution)]
    return sum(losses) / len(losses) + bottleneck.loss(distribution, 0)


def test_the_loss_is_the_papers(parts):
    bottleneck, head, vectors, targets = (part.float() for part in parts)
    torch.manual_seed(3)
    noise = [torch.randn(3, 3) for _ in range(4)]
    expected = paper_loss(vectors, noise, bottleneck, head, targets[:, 1:], 0.2)
    torch.manual_seed(3)
    torch.testing.assert_close(our_loss(bottleneck, head, vectors, targets), expected, rtol=1e-4, atol=1e-5)


def test_the_gradient_goes_through_the_draws(parts, monkeypatch):
    """Against finite differences, with the same noise in every evaluation."""
    bottleneck, _, vectors, _ = parts
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)

    def draw_all(given, *_):
        torch.manual_seed(5)
        distribution = bottleneck(given)
        return torch.stack(bottleneck.samples(distribution)), distribution.divergence(bottleneck.prior)

    weights = [bottleneck.mean.weight, bottleneck.spread.bias, bottleneck.prior_mean, bottleneck.prior_spread]
    assert torch.autograd.gradcheck(draw_all, (vectors.requires_grad_(), *weights))


def test_the_prior_begins_as_a_standard_gaussian():
    prior = Bottleneck(BottleneckSettings(size=4), 5).prior
    torch.testing.assert_close(prior.mean, torch.zeros(4))
    torch.testing.assert_close(prior.deviation, torch.ones(4))


def test_hidden_layers_go_down_in_even_steps_or_have_one_size():
    sizes = [layer.out_features for layer in Bottleneck(BottleneckSettings(size=1152), 2304).layers[1::3]]
    assert sizes == [2016, 1728]
    assert [layer.out_features for layer in Bottleneck(BottleneckSettings(size=2, hidden=7), 5).layers[1::3]] == [7, 7]


def test_the_weight_grows_with_the_epochs_up_to_one():
    grown = Bottleneck(BottleneckSettings(size=1, beta=0.3), 1)
    assert [grown.weight(epoch) for epoch in range(5)] == pytest.approx([0.3, 0.6, 0.9, 1.0, 1.0])
    assert Bottleneck(BottleneckSettings(size=1, beta=0.3, growing=False), 1).weight(4) == 0.3
    assert Bottleneck(BottleneckSettings(size=1, beta=0), 1).weight(9) == 0


def test_extreme_spans_have_a_finite_divergence():
    bottleneck = Bottleneck(BottleneckSettings(size=2), 2)
    torch.nn.init.constant_(bottleneck.spread.bias, -1e4)
    distribution = bottleneck(torch.zeros(1, 2))
    assert math.isfinite(distribution.divergence(bottleneck.prior).sum().item())


# The network


def labelled_batch(model: Model, data: TrainingData, *ids: int) -> LabelledBatch:
    labels = model.network.suggester.span_labels(torch.tensor(data.lengths), data.numbered_entities())
    return LabelledBatch(model.encode(data.sentences).batch(torch.tensor(ids)), labels)


@pytest.fixture
def data(documents, tiny) -> TrainingData:
    return TrainingData.of(documents, tiny("classifier", *JOINT), split)


STEADY = ("encoder.bilstm.dropout=0.0", "encoder.vectors.singletons=0", "representation.dropout=0.0")


def test_the_networks_loss_is_a_mean_over_sentences_and_grows_with_the_epoch(tiny, data):
    torch.manual_seed(0)
    recipe = tiny("classifier", *JOINT, *STEADY, "bottleneck.beta=0.1")
    network = (model := Model.from_corpus(recipe, data.sentences, data.labels)).network.train()
    given = labelled_batch(model, data, 0, 1, 2)
    losses = []
    for epoch in (0, 1):
        torch.manual_seed(1)
        losses.append(network(given, None, epoch))
    candidates = enumerate_spans(given.batch.lengths, 6)
    vectors = network.representation(network.encoder(given.batch), candidates)
    divergence = network.bottleneck(vectors).divergence(network.bottleneck.prior).sum() / 3
    torch.testing.assert_close(losses[1] - losses[0], 0.1 * divergence, rtol=1e-3, atol=1e-4)
    one_hot = given.labels.one_hot_targets(given.batch.ids, candidates, network.labels)
    torch.manual_seed(1)
    draw_all = [
        network.head.loss(query_of(z), Targets(spans=one_hot))
        for z in network.bottleneck.samples(network.bottleneck(vectors))
    ]
    torch.testing.assert_close(losses[0], sum(draw_all) / 5 / 3 + 0.1 * divergence)


def test_inference_draws_nothing_and_reads_the_mean(tiny, data):
    model = Model.from_corpus(tiny("classifier", *JOINT), data.sentences, data.labels)
    batch = model.encode(data.sentences).batch(torch.arange(3))
    with torch.inference_mode():
        query = Query(model.network, batch)
        vectors, candidates = query.vectors, query.candidates
        mean = model.network.bottleneck(model.network.representation(model.network.encoder(batch), candidates)).mean
        torch.testing.assert_close(vectors, mean)
        once, twice = (model.network.predict_proba(Query(model.network, batch)) for _ in range(2))
        assert torch.equal(once, twice)
        torch.testing.assert_close(once, model.network.head.predict_proba(query_of(vectors)))
    assert vectors.shape[1] == model.network.span_size == 6


MIXES = {
    "minus and instances": ("instance",),
    "minus and softmax": ("classifier",),
    "minus and sigmoids": ("classifier", "head.kind=sigmoid"),
    "pooling and instances": ("instance", "representation.kind=pooling", "representation.projection.size=5"),
    "ends and mean, instances": ("instance", "representation.kind=endpoint_mean"),
    "the whole memory": ("instance", "representation.kind=endpoint_mean", "head.search=whole"),
    "through neighbours": ("instance", "head.through_neighbours=true"),
    "smoothed sigmoids": ("classifier", "head.kind=sigmoid", "losses.boundary_smoothing.epsilon=0.2"),
}


@pytest.mark.parametrize("mix", MIXES)
def test_a_bottleneck_goes_between_any_representation_and_head(tiny, documents, tmp_path: Path, mix: str):
    name, *settings = MIXES[mix]
    recipe = tiny(name, *settings, "bottleneck.size=6", "bottleneck.samples=2")
    model = nearspan.train(recipe, documents, documents[:3], out=tmp_path / "m", device="cpu").model
    assert model.datastore.vectors.shape[1] == 6
    again = nearspan.load(tmp_path / "m", device="cpu")
    assert list(again.pipe(documents)) == list(model.pipe(documents))
    sentences = [sentence for document in documents for sentence in split(document)]
    with torch.inference_mode():
        vectors = Query(model.network, model.encode(sentences).batch(torch.tensor([0]))).vectors
    torch.testing.assert_close(model.datastore.rows(slice(0, len(vectors))).float(), vectors, atol=1e-3, rtol=1e-2)
    evidence = again.explain_span("Ada lives", nearspan.Span.of(0, 3))
    assert evidence.strength == ("exact" if name == "instance" else "nearest")


def test_the_biaffine_head_has_no_use_for_a_bottleneck(tiny, data):
    recipe = tiny("classifier", "representation.kind=endpoint_mlp", "head.kind=biaffine", "bottleneck.size=4")
    with pytest.raises(ConfigError, match="bottleneck=none"):
        Model.from_corpus(recipe, data.sentences, data.labels)


# Several labels on a span

TEXTS = ("Ada saw Rome", "Rome saw Bob", "Bob left Rome", "Rome is old", "Eve saw Ada", "Bob and Eve left")


def doubly(text: str) -> Document:
    """Rome is a place and a state; the others are people."""
    entities = [("Ada", "PERSON"), ("Bob", "PERSON"), ("Eve", "PERSON"), ("Rome", "PLACE"), ("Rome", "STATE")]
    places = [(text.find(name), name, label) for name, label in entities]
    return Document(text, tuple(Entity.of(at, at + len(name), label) for at, name, label in places if at >= 0))


@pytest.fixture(scope="module")
def taught(tiny, tmp_path_factory: pytest.TempPathFactory):
    """A model that has seen two labels on one span, and its folder."""
    out = tmp_path_factory.mktemp("models") / "joint"
    documents = [doubly(text) for text in TEXTS]
    settings = ("training.epochs=60", "training.learning_rate=0.02", "head.tuned=true")
    return nearspan.train(tiny("classifier", *JOINT, *settings), documents, documents, out=out, device="cpu"), out


def test_a_span_gets_all_its_labels(taught):
    run, out = taught
    assert run.dev.scores.f1 == 1
    assert run.dev.coverage.unreachable == {}
    assert run.model.overlap == "flat"
    for model in (run.model, nearspan.load(out, device="cpu")):
        [document] = model.pipe(["Bob saw Rome"])
        labels = [(document.text[entity.start : entity.end], entity.label) for entity in document.entities]
        assert sorted(labels) == [("Bob", "PERSON"), ("Rome", "PLACE"), ("Rome", "STATE")]


def test_each_label_has_evidence_of_its_own_and_look_alikes_show_all_of_theirs(taught):
    run, _ = taught
    evidence = {entity.label: entity for entity in run.model.explain("Bob saw Rome", 3) if entity.text == "Rome"}
    assert set(evidence) == {"PLACE", "STATE"}
    for explained in evidence.values():
        assert explained.strength == "nearest"
        assert {near.text for near in explained.neighbours["PLACE"]} == {
            near.text for near in explained.neighbours["STATE"]
        }
    assert run.model.explain_span("Bob saw Rome", nearspan.Span.of(4, 7)).label == ""


def test_thresholds_are_saved(taught):
    run, out = taught
    thresholds = run.model.network.head.thresholds
    assert torch.equal(nearspan.load(out, device="cpu").network.head.thresholds, thresholds)


def test_null_is_the_product_of_all_refusals():
    torch.manual_seed(0)
    head = sigmoid_head(span_size=4, labels=3)
    probabilities = head.predict_proba(query_of(torch.randn(5, 4)))
    torch.testing.assert_close(probabilities[:, 0], (1 - probabilities[:, 1:]).prod(1))


def test_labels_hold_above_their_thresholds():
    head = sigmoid_head(span_size=4, labels=2, threshold=0.4)
    head.thresholds[1] = 0.8
    rows, labels = head.choose(torch.tensor([[0.1, 0.41, 0.81], [0.9, 0.4, 0.8], [0.1, 0.3, 0.9]]))
    assert list(zip(rows.tolist(), labels.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 2)]


@pytest.mark.parametrize(
    ("predicted", "gold", "threshold"),
    [
        ([], 3, 0.5),
        ([(0.9, False)], 3, 0.5),
        ([(0.9, True)], 0, 0.475),
        ([(0.8, True), (0.4, False), (0.6, True)], 2, 0.5),
        ([(0.8, False), (0.6, True), (0.6, False), (0.2, True)], 2, 0.125),
        ([(0.9, True), (0.5, True), (0.5, False), (0.5, False)], 9, 0.275),
    ],
)
def test_the_best_threshold_parts_right_from_wrong(predicted, gold: int, threshold: float):
    assert best_threshold(predicted, gold, 0.5) == pytest.approx(threshold)


# The recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, wordpiece_bert) -> Path:
    """A tiny BERT that cuts some words in pieces."""
    words = "ada bob eve lives in os ##lo ro ##me left new york for the met par ##is is far from ##s"
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return wordpiece_bert(tmp_path_factory.mktemp("encoder"), words.split(), shape)


ALONE = "losses.generators=none"
VARIANTS = {
    "SupVIB": (ALONE,),
    "SupVIB_0": (ALONE, "bottleneck.beta=0"),
    "baseline": (ALONE, "bottleneck=none"),
    "SupVIB + SpanReco": ("losses.generators.pretraining=1",),
    "the baseline with generators": ("losses.generators.pretraining=0", "bottleneck=none"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_recipe_trains_over_pieces(folder: Path, documents, tmp_path: Path, variant: str):
    settings = (f"encoder.transformer.name={folder}", "bottleneck.size=8", "training.epochs=2", *VARIANTS[variant])
    recipe = nearspan.recipe("joint-ib").override(settings)
    model = nearspan.train(recipe, documents, documents[:3], out=tmp_path / "m", device="cpu").model
    assert model.network.representation.size == 24
    assert model.network.span_size == (24 if "baseline" in variant else 8)
    again = nearspan.load(tmp_path / "m", device="cpu")
    assert list(again.pipe(documents)) == list(model.pipe(documents))


def test_deep_spans_can_be_compressed(folder: Path, documents, tmp_path: Path):
    settings = (f"encoder.transformer.name={folder}", "suggester.max_width=3", "representation.projection.size=6")
    settings += ("training.epochs=2", "bottleneck.size=4", "head.kind=sigmoid", "losses.generators.size=4")
    recipe = nearspan.recipe("dspert").override([*settings, "losses.generators.pretraining=1"])
    model = nearspan.train(recipe, documents, documents[:3], out=tmp_path / "m", device="cpu").model
    again = nearspan.load(tmp_path / "m", device="cpu")
    assert model.network.span_size == again.datastore.vectors.shape[1] == 4
    assert list(again.pipe(documents)) == list(model.pipe(documents))
