"""Span reconstruction and synonym generation (Nguyen et al., 2023, section 3.1) against loops from the paper's text."""

import math
from pathlib import Path

import pytest
import torch
from torch.distributions import Normal, kl_divergence

import nearspan
from nearspan.errors import ConfigError, ModelError
from nearspan.heads import Query
from nearspan.losses import GeneratorSettings, SpanTexts, Vocabulary
from nearspan.losses.span_texts import END, SPECIAL, START, UNKNOWN, Sequences, lowercase_words
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.segment import split
from nearspan.spans import SpanLabels, enumerate_spans
from nearspan.training.data import TrainingData


class Table:
    """Synonyms from a dictionary."""

    def __init__(self, **known: tuple[str, ...]) -> None:
        self.known = known

    def of(self, text: str) -> tuple[str, ...]:
        return self.known.get(text.lower(), ())


SYNONYMS = Table(oslo=("Christiania", "the capital of Norway", "Oslo", "OSLO"), rome=("Roma",))
SMALL = {"size": 5, "word_size": 4, "hidden": 6}
TOLD = (
    *(f"losses.generators.{key}={value}" for key, value in SMALL.items()),
    "losses.generators.pretraining=1",
    "losses.generators.gamma=0.5",
)
JOINT = ("representation.kind=endpoint_mean", "bottleneck.size=6", "head.kind=sigmoid")
STEADY = ("encoder.bilstm.dropout=0.0", "encoder.vectors.singletons=0", "representation.dropout=0.0")


@pytest.fixture
def data(documents, tiny) -> TrainingData:
    return TrainingData.of(documents, tiny("classifier"), split)


@pytest.fixture
def texts(data) -> SpanTexts:
    return SpanTexts.from_corpus(data.sentences, data.entities, 6, SYNONYMS)


# What gold spans say


def test_the_words_of_gold_spans_and_of_their_synonyms_are_known(texts):
    assert {"ada", "new", "york", "norway", "roma"} <= set(texts.vocabulary.words)
    assert "lives" not in texts.vocabulary.words
    assert texts.vocabulary.synonyms


@pytest.mark.parametrize("ids", [[0], [2, 0, 9], [5, 8], [4, 4], list(range(12))])
def test_a_batch_tells_the_texts_of_its_gold_spans_and_of_no_others(texts, data, ids: list[int]):
    lengths = torch.tensor([len(data.sentences[i]) for i in ids])
    candidates = enumerate_spans(lengths, 6)
    batch_texts = texts.batch(torch.tensor(ids), candidates)
    golds = [(b, entity.first, entity.stop) for b, i in enumerate(ids) for entity in data.entities[i]]
    places = [
        (int(candidates.sentence[r]), int(candidates.first[r]), int(candidates.stop[r])) for r in batch_texts.rows
    ]
    assert places == golds
    names = [data.sentences[ids[b]].span(a, z).text(data.sentences[ids[b]].document.text) for b, a, z in golds]
    assert [texts.vocabulary.text(rows) for rows in batch_texts.texts.rows.tolist()] == [name.lower() for name in names]
    expected = [
        (name, " ".join(lowercase_words(other)))
        for name in names
        for other in SYNONYMS.of(name)
        if other.lower() != "oslo"
    ]
    owners = [names[int(batch_texts.with_synonyms[owner])] for owner in batch_texts.owner]
    assert list(zip(owners, map(texts.vocabulary.text, batch_texts.synonyms.rows.tolist()), strict=True)) == expected
    assert batch_texts.share.tolist() == [0.5 if name == "Oslo" else 1.0 for name in owners]


def test_long_and_many_synonyms_are_left_out(data):
    source = Table(oslo=("a b c d", "a", "b", "c", ""))
    texts = SpanTexts.from_corpus(data.sentences, data.entities, 6, source, most=2, longest=3)
    synonyms = {texts.vocabulary.text(rows) for rows in texts.sequences[texts.synonyms].tolist()}
    assert synonyms == {"a", "b"}


# Equations 2 to 5


def paper_surprise(generators, task, z, text):
    """-log p(text|z), one word at a time, with an LSTM written out."""
    decoder = generators.decoders[task]
    lstm, size = decoder.recurrent, decoder.recurrent.hidden_size
    hidden, cell = decoder.begin.weight @ z + decoder.begin.bias, torch.zeros(size)
    before, total = START, 0.0
    for row in text:
        given = torch.cat([generators.words.weight[before], z])
        gates = lstm.weight_ih_l0 @ given + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
        i, f, g, o = gates.split(size)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        scores = decoder.out.weight @ hidden + decoder.out.bias
        total = total - scores.log_softmax(0)[row]
        before = row  # the true word, not the one that was told
    return total


def latent(generators, vector, mean, spread):
    layers = generators.means[mean], generators.spreads[spread]
    centre, raw = (layer.weight @ vector + layer.bias for layer in layers)
    return centre, torch.log1p(raw.exp()) + 1e-6


@pytest.mark.parametrize(("shared", "mean", "spread"), [("mean", 0, 1), ("both", 0, 0), ("nothing", 1, 1)])
def test_the_loss_is_the_papers(texts, data, shared: str, mean: int, spread: int):
    torch.manual_seed(0)
    generators = GeneratorSettings(**SMALL, shared=shared).build(3, texts.vocabulary).eval()
    assert (len(generators.means), len(generators.spreads)) == (mean + 1, spread + 1)
    ids = torch.tensor([0, 2, 5])  # Ada, Oslo; Eve, New York, Rome; nothing
    candidates = enumerate_spans(torch.tensor([len(data.sentences[i]) for i in ids]), 6)
    batch_texts, vectors = texts.batch(ids, candidates), torch.randn(len(candidates), 3)
    torch.manual_seed(1)
    noise = torch.randn(5, 5), torch.randn(2, 5)  # for five spans; for two that have synonyms
    rows = {name: SPECIAL + row for row, name in enumerate(texts.vocabulary.words)}
    names = ["ada", "oslo", "eve", "new york", "rome"]
    latents = [latent(generators, vectors[row], 0, 0) for row in batch_texts.rows]
    other = [latent(generators, vectors[batch_texts.rows[i]], mean, spread) for i in (1, 4)]
    expected = 0.0
    for (centre, deviation), draw, name in zip(latents, noise[0], names, strict=True):
        text = [*(rows[word] for word in name.split()), END]
        expected += paper_surprise(generators, "reconstruction", centre + deviation * draw, text) / 5
        expected += 0.5 * kl_divergence(Normal(centre, deviation), Normal(0.0, 1.0)).sum() / 5
    for (centre, deviation), draw, name in zip(other, noise[1], ("oslo", "rome"), strict=True):
        said = [" ".join(lowercase_words(synonym)) for synonym in SYNONYMS.of(name) if synonym.lower() != name]
        for spoken in said:
            text = [*(rows[word] for word in spoken.split()), END]
            surprise = paper_surprise(generators, "synonyms", centre + deviation * draw, text)
            expected += surprise / len(said) / 2
        expected += 0.5 * kl_divergence(Normal(centre, deviation), Normal(0.0, 1.0)).sum() / 2
    torch.manual_seed(1)
    torch.testing.assert_close(generators.loss(vectors, batch_texts, progress=0.5), expected, rtol=1e-4, atol=1e-4)


def test_only_gold_spans_reach_the_generators(texts, data):
    generators = GeneratorSettings(**SMALL).build(3, texts.vocabulary)
    ids = torch.tensor([0, 2])
    candidates = enumerate_spans(torch.tensor([len(data.sentences[i]) for i in ids]), 6)
    batch_texts, vectors = texts.batch(ids, candidates), torch.randn(len(candidates), 3, requires_grad=True)
    generators.loss(vectors, batch_texts, 0.5).backward()
    gold = torch.zeros(len(candidates), dtype=torch.bool)
    gold[batch_texts.rows] = True
    assert vectors.grad[gold].abs().sum(1).min() > 0
    assert vectors.grad[~gold].abs().max() == 0
    spoilt = vectors.detach().masked_fill(~gold[:, None], torch.nan)
    assert math.isfinite(generators.loss(spoilt, batch_texts, 0.5).item())


def test_a_batch_without_gold_spans_teaches_nothing_but_gives_every_weight_a_gradient(texts, data):
    generators = GeneratorSettings(**SMALL).build(3, texts.vocabulary)
    candidates = enumerate_spans(torch.tensor([len(data.sentences[5])]), 6)
    loss = generators.loss(torch.randn(len(candidates), 3), texts.batch(torch.tensor([5]), candidates), 0.5)
    loss.backward()
    assert loss.item() == 0
    assert all(weight.grad is not None and not weight.grad.any() for weight in generators.parameters())


def test_the_divergence_weighs_more_and_more_over_the_whole_training():
    generators = GeneratorSettings(**SMALL).build(3, Vocabulary(("a",)))
    weights = [generators.weight(done / 10) for done in range(11)]
    assert weights == sorted(weights)
    assert weights[0] < 0.01 < 0.99 < weights[10]
    assert weights[5] == 0.5


def test_the_divergences_weight_may_end_lower():
    generators = GeneratorSettings(**SMALL, divergence=0.01).build(3, Vocabulary(("a",)))
    assert generators.weight(0.5) == 0.005
    assert 0.0099 < generators.weight(1.0) < 0.01


def test_word_dropout_hides_words_in_training_only(texts, monkeypatch):
    generators = GeneratorSettings(**SMALL, word_dropout=0.9).build(3, texts.vocabulary)
    seen = []
    monkeypatch.setattr(generators.words, "forward", lambda rows: seen.append(rows) or torch.zeros(*rows.shape, 4))
    text = torch.tensor([[SPECIAL, SPECIAL + 1, SPECIAL + 2, END]] * 20)
    for training in (True, False):
        generators.train(training)._surprise("reconstruction", torch.zeros(20, 5), Sequences.of(text))
    assert (seen[0][:, 0] == START).all()
    assert (seen[0][:, 1:] == UNKNOWN).any()
    assert torch.equal(seen[1], torch.tensor([[START, SPECIAL, SPECIAL + 1, SPECIAL + 2]] * 20))


def test_what_was_learned_is_told_again():
    torch.manual_seed(0)
    names, vocabulary = ["ada", "new york", "york"], Vocabulary(("ada", "new", "york"))
    settings = GeneratorSettings(size=8, word_size=8, hidden=16, slope=0.01)
    generators, vectors = settings.build(4, vocabulary), torch.randn(3, 4)
    rows = [[SPECIAL + vocabulary.words.index(word) for word in name.split()] + [END] for name in names]
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    sequences = Sequences.of(padded)
    optimizer = torch.optim.Adam(generators.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        generators._surprise(
            "reconstruction", generators.latent(vectors, "reconstruction").mean, sequences
        ).sum().backward()
        optimizer.step()
    assert generators.eval().generate(vectors) == names
    torch.manual_seed(0)
    drawn = [generators.generate(vectors, sampled=True) for _ in range(2)]
    assert all(set(" ".join(said).split()) <= {"ada", "new", "york"} for said in drawn)
    assert max(len(said.split()) for said in GeneratorSettings(**SMALL).build(4, vocabulary).generate(vectors)) <= 15


# Equation 7


def span_labels(data: TrainingData) -> SpanLabels:
    return SpanLabels.of_all_spans(torch.tensor(data.lengths), data.numbered_entities(), 6)


def test_the_joint_loss_and_the_epochs_before_it(tiny, data, texts):
    torch.manual_seed(0)
    recipe = tiny("classifier", *JOINT, *STEADY, *TOLD)
    model = Model.from_corpus(recipe, data.sentences, data.labels, vocabulary=texts.vocabulary)
    network, labels = model.network.train(), span_labels(data)
    given = LabelledBatch(model.encode(data.sentences).batch(torch.tensor([0, 2])), labels, texts)

    def call_with_seed(call):
        torch.manual_seed(1)
        return call()

    query = Query(network, given.batch)
    vectors, candidates = query.representations, query.candidates
    batch_texts = texts.batch(given.batch.ids, candidates)
    generated = call_with_seed(lambda: network.generators.loss(vectors, batch_texts, 0.3))
    first = call_with_seed(lambda: network(given, None, 0, 0.3))
    torch.testing.assert_close(first, generated)
    first.backward()
    assert not any(weight.grad.any() for part in (network.head, network.bottleneck) for weight in part.parameters())
    assert network.generators.means[0].weight.grad.any()

    def both():
        generated = network.generators.loss(vectors, batch_texts, 0.3)
        return network._span_loss(query, given, None, 0) + 0.5 * generated

    torch.testing.assert_close(call_with_seed(lambda: network(given, None, 1, 0.3)), call_with_seed(both))


def test_gamma_weighs_what_the_encoder_learns_and_the_generators_go_on_learning(tiny, data, texts):
    torch.manual_seed(0)
    model = Model.from_corpus(
        tiny("classifier", *JOINT, *STEADY, *TOLD), data.sentences, data.labels, vocabulary=texts.vocabulary
    )
    network, given = model.network, model.encode(data.sentences).batch(torch.tensor([0, 2]))
    query = Query(network, given)
    vectors, batch_texts = query.representations, texts.batch(given.ids, query.candidates)

    def gradients(loss):
        torch.manual_seed(1)
        weights, encoder = list(network.generators.parameters()), list(network.encoder.parameters())
        parts = torch.autograd.grad(loss(), [*weights, *encoder], allow_unused=True, retain_graph=True)
        return parts[: len(weights)], parts[len(weights) :]

    plain = gradients(lambda: network.generators.loss(vectors, batch_texts, 0.3))
    weighed = gradients(lambda: network.generators.loss(vectors, batch_texts, 0.3, 0.25))
    for left, right in zip(plain[0], weighed[0], strict=True):
        torch.testing.assert_close(right, left)
    for left, right in zip(plain[1], weighed[1], strict=True):
        torch.testing.assert_close(right, 0.25 * left if left is not None else None)


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_weight_has_a_gradient_in_every_batch(tiny, data, texts, epoch: int):
    """Processes that train together wait for each other's gradients."""
    model = Model.from_corpus(
        tiny("classifier", *JOINT, *TOLD), data.sentences, data.labels, vocabulary=texts.vocabulary
    )
    for ids in ([0, 2], [5], [3]):  # with synonyms, without entities, without synonyms
        model.network.zero_grad()
        batch = model.encode(data.sentences).batch(torch.tensor(ids))
        model.network.train()(LabelledBatch(batch, span_labels(data), texts), None, epoch, 0.3).backward()
        assert [name for name, weight in model.network.named_parameters() if weight.grad is None] == []


def test_generators_change_nothing_when_a_model_is_used(tiny, data, texts):
    model = Model.from_corpus(
        tiny("classifier", *JOINT, *TOLD), data.sentences, data.labels, vocabulary=texts.vocabulary
    )
    before = list(model.pipe(["Ada lives in Oslo"]))
    for weight in model.network.generators.parameters():
        torch.nn.init.constant_(weight, torch.nan)
    assert list(model.pipe(["Ada lives in Oslo"])) == before


@pytest.mark.parametrize("synonyms", [None, SYNONYMS], ids=["reconstruction", "all"])
def test_a_trained_model_keeps_its_generators(tiny, documents, tmp_path: Path, synonyms):
    recipe = tiny("classifier", *JOINT, *TOLD, "training.epochs=3", "training.patience=1")
    run = nearspan.train(recipe, documents, documents, out=tmp_path / "m", device="cpu", synonyms=synonyms)
    again = nearspan.load(tmp_path / "m", device="cpu")
    assert run.best_epoch > 1
    assert set(again.network.generators.decoders) == (
        {"reconstruction", "synonyms"} if synonyms else {"reconstruction"}
    )
    vectors = torch.randn(3, again.network.representation.size)
    assert again.network.generators.generate(vectors) == run.model.network.generators.generate(vectors)
    assert list(again.pipe(documents)) == list(run.model.pipe(documents))


def test_a_killed_run_goes_on_with_its_own_synonyms_only(tiny, documents, tmp_path: Path, monkeypatch):
    from nearspan.training.trainer import Trainer

    recipe = tiny("classifier", *JOINT, *TOLD, "training.epochs=3", "training.checkpoint_minutes=0")

    def train(out: str, synonyms=SYNONYMS, **options):
        return nearspan.train(
            recipe, documents, documents, out=tmp_path / out, device="cpu", synonyms=synonyms, **options
        )

    train("whole")
    for stop in (2, 5):
        out, step, calls = f"cut{stop}", Trainer._step, []
        with monkeypatch.context() as patched:

            def dying(self, *given, step=step, calls=calls, stop=stop):
                calls.append(given)
                if len(calls) > stop:
                    raise KeyboardInterrupt
                return step(self, *given)

            patched.setattr(Trainer, "_step", dying)
            with pytest.raises(KeyboardInterrupt):
                train(out, callbacks=[nearspan.training.TrainingCallback(logging_steps=1)])
        with pytest.raises(ModelError, match="another run"):
            train(out, Table(), resume=True)
        train(out, resume=True)
        assert (tmp_path / out / "model.safetensors").read_bytes() == (
            tmp_path / "whole" / "model.safetensors"
        ).read_bytes()


def test_some_epochs_must_be_left_for_the_head(tiny, documents, tmp_path: Path):
    recipe = tiny("classifier", *JOINT, "losses.generators.pretraining=2")
    with pytest.raises(ConfigError, match="so that the head learns too"):
        nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu")
