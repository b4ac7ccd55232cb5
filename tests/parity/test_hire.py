"""Hire-NER against loops written from the paper's text (Luo et al., 2020), and the memory's promises.

The CRF (equations 2 to 4) is compared with brute force in tests/heads/test_crf.py.
"""

import json
import math

import pytest
import torch
from torch import Tensor

import nearspan
from nearspan.encoders.encoder import Encoder
from nearspan.encoders.word_memory import normalize_digits
from nearspan.errors import ConfigError
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.segment import split
from nearspan.training.data import TrainingData

SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
PIECES = ["ada", "bob", "lives", "in", "oslo", "rome", "left", "new", "york", "for", "the", "rain", "moon", "eve"]
SMALL = (
    "encoder.sentence_context.size=3",
    "encoder.sentence_context.window=3",
    "encoder.bilstm.dropout=0.0",
    "encoder.sentence_context.dropout=0.0",
    "head.dropout=0.0",
)


@pytest.fixture(scope="session")
def data(documents, tiny) -> TrainingData:
    return TrainingData.of(documents, tiny("hire"), split)


@pytest.fixture
def build(tiny, data):
    """A model of the recipe, tiny, with its training sentences as tensors; some settings changed."""

    def make(*settings: str, name: str = "hire") -> tuple[Model, Encoder]:
        torch.manual_seed(0)
        recipe = tiny(name, *(SMALL if name == "hire" else ()), *settings)
        model = Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)
        return model, model.network.encoder.eval()

    return make


@pytest.fixture(scope="session")
def bert(tmp_path_factory, wordpiece_bert):
    return wordpiece_bert(tmp_path_factory.mktemp("hire") / "bert", PIECES, SHAPE)


def words_of(encoder: Encoder, batch) -> Tensor:
    return encoder.features["vectors"](batch, batch.corpus.features["vectors"])


# IntNet


def convolve(layer: torch.nn.Conv1d, columns: list[Tensor]) -> list[Tensor]:
    """A convolution with zeros around the word, one position after the other."""
    reach, zero = layer.kernel_size[0] // 2, torch.zeros_like(columns[0])
    padded = [zero] * reach + columns + [zero] * reach
    return [
        sum(layer.weight[:, :, i] @ padded[at + i] for i in range(2 * reach + 1)) + layer.bias
        for at in range(len(columns))
    ]


@torch.no_grad()
def test_intnet_is_a_funnel_with_dense_connections(build):
    _, encoder = build()
    module = encoder.features["characters"]
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    module.table.weight[0] = 0
    assert module.size == 2 * 4 + 3 * 2 * 16
    text = "in extraordinarily Oslo"
    batch = encoder.prepare(split(nearspan.markup(text))).batch(torch.tensor([0]))
    vectors = module(batch, batch.corpus.features["characters"])[0]
    for word, vector in zip(text.split(), vectors, strict=True):
        columns = [module.table.weight[module.index.get(letter, 1)] for letter in word]
        three, five = (convolve(layer, columns) for layer in module.first)
        everything = [torch.cat(pair).relu() for pair in zip(three, five, strict=True)]
        for narrow, block in zip(module.narrow, module.blocks, strict=True):
            inner = [(narrow.weight[:, :, 0] @ column + narrow.bias).relu() for column in everything]
            three, five = (convolve(layer, inner) for layer in block)
            new = [torch.cat(pair).relu() for pair in zip(three, five, strict=True)]
            everything = [torch.cat(pair) for pair in zip(everything, new, strict=True)]
        torch.testing.assert_close(vector, torch.stack(everything).amax(0), atol=1e-4, rtol=1e-4)


# the sentence level


def beta(context, vectors: Tensor) -> Tensor:
    """Equations 5 to 7 for the words [N, H] of one sentence."""
    count, labels, reach = len(vectors), len(context.labels), len(context.kernel) // 2
    likeness = [
        [float(vectors[i] @ label / (vectors[i].norm() * label.norm())) for label in context.labels]
        for i in range(count)
    ]
    best = []
    for i in range(count):
        spread = []
        for label in range(labels):
            around = [(j, i + j - reach) for j in range(len(context.kernel)) if 0 <= i + j - reach < count]
            spread.append(sum(float(context.kernel[j]) * likeness[k][label] for j, k in around))
        best.append(max(value + float(bias) for value, bias in zip(spread, context.bias, strict=True)))
    total = sum(math.exp(value) for value in best)
    return torch.tensor([math.exp(value) / total for value in best])


@pytest.mark.parametrize("pooling", ["labels", "mean"])
@torch.no_grad()
def test_a_sentences_vector_is_equations_5_to_8(build, data, pooling: str):
    _, encoder = build(f"encoder.sentence_context.pooling={pooling}")
    context = encoder.sentence_context
    torch.nn.init.normal_(context.words)
    if pooling == "labels":
        torch.nn.init.normal_(context.bias)
    prepared = encoder.prepare(data.sentences)
    batch = prepared.batch(torch.arange(len(data.sentences)))
    features = encoder(batch, recall=False).features
    sentences = context(batch, encoder.word_features, features)
    for number in range(len(data.sentences)):
        alone = prepared.batch(torch.tensor([number]))
        vectors = encoder.features["vectors"](alone, prepared.features["vectors"], context.words)
        letters = context.characters(alone, prepared.features["characters"])
        states = context.recurrent(torch.cat([vectors, letters], -1), alone.mask)[0]
        count = len(states)
        weights = beta(context, vectors[0]) if pooling == "labels" else torch.full((count,), 1 / count)
        expected = sum(weight * state for weight, state in zip(weights, states, strict=True))
        torch.testing.assert_close(sentences[number], expected, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_sentences_vector_joins_every_word_before_the_bilstm(build, data):
    _, encoder = build("encoder.word_memory=none")
    batch = encoder.prepare(data.sentences[:3]).batch(torch.arange(3))
    features = encoder(batch, recall=False).features
    sentences = encoder.sentence_context(batch, encoder.word_features, features)
    joined = torch.cat([*features.values(), sentences[:, None].expand(-1, batch.rows.shape[1], -1)], -1)
    torch.testing.assert_close(encoder(batch).states, encoder.bilstm(joined, batch.mask))


@torch.no_grad()
def test_labels_begin_as_the_mean_of_their_entities_words(build, data):
    _, encoder = build()
    words = encoder.features["vectors"]
    for label, vector in zip(encoder.sentence_context.names, encoder.sentence_context.labels, strict=True):
        vectors = [
            words.trained[words.index[sentence.tokens[word].lower()]]
            for sentence, entities in zip(data.sentences, data.entities, strict=True)
            for entity in entities
            if entity.label == label
            for word in range(entity.first, entity.stop)
        ]
        torch.testing.assert_close(vector, torch.stack(vectors).mean(0))


def test_label_vectors_without_entities_are_refused(tiny, data):
    with pytest.raises(ConfigError, match="contiguous entities"):
        Model.from_corpus(tiny("hire"), data.sentences, data.labels)


# the document level


def naive(encoder: Encoder, sentences, keys, states, number: int, own_slot: bool, share: float, gone=()) -> Tensor:
    """Equations 9 to 13 for the words of one sentence, slot after slot; `keys` and `states` [N, K or H] of each.

    The sentences `gone` have no slots.
    """
    kind = encoder.word_memory.settings.similarity
    expected = []
    for place, token in enumerate(sentences[number].tokens):
        query, state = keys[number][place], states[number][place]
        weights, values = [], []
        for other, sentence in enumerate(sentences):
            for where, word in enumerate(sentence.tokens):
                if (
                    other in gone
                    or normalize_digits(word) != normalize_digits(token)
                    or (own_slot and (other, where) == (number, place))
                ):
                    continue
                key = keys[other][where].half().float()
                score = query @ key
                if kind == "scaled":
                    score = score / math.sqrt(len(key))
                if kind == "cosine":
                    score = score / (query.norm() * key.norm())
                weights.append(float(score))
                values.append(states[other][where].half().float())
        if not values:
            expected.append(state)
            continue
        total = sum(math.exp(weight) for weight in weights)
        answer = sum(math.exp(weight) / total * value for weight, value in zip(weights, values, strict=True))
        expected.append((1 - share) * state + share * answer)
    return torch.stack(expected)


def raw(encoder: Encoder, prepared) -> tuple[list[Tensor], list[Tensor]]:
    """Keys and states of each sentence before anything is recalled, read one sentence at a time."""
    keys, states = [], []
    for number in range(len(prepared)):
        encoded = encoder(prepared.batch(torch.tensor([number])), recall=False)
        name = "transformer" if "transformer" in encoded.features else "vectors"
        keys.append(encoded.features[name][0])
        states.append(encoded.states[0])
    return keys, states


@pytest.mark.parametrize("similarity", ["dot", "scaled", "cosine"])
@pytest.mark.parametrize("contextual", [False, True])
@pytest.mark.parametrize("training", [True, False])
@torch.no_grad()
def test_recalling_is_equations_9_to_13(
    build, data, bert, similarity: str, contextual: bool, training: bool, monkeypatch
):
    settings = [f"encoder.transformer.name={bert}"] if contextual else []
    _, encoder = build(f"encoder.word_memory.similarity={similarity}", "encoder.word_memory.weight=0.6", *settings)
    monkeypatch.setattr("nearspan.encoders.word_memory.CELLS", 100)  # some words at a time
    encoder.write_word_memory(encoder.prepare(data.sentences, training=True))
    prepared = encoder.prepare(data.sentences, training=training)
    keys, states = raw(encoder, prepared)
    batch = prepared.batch(torch.arange(len(data.sentences)))
    word_states = encoder(batch).states
    for number, sentence in enumerate(data.sentences):
        expected = naive(encoder, data.sentences, keys, states, number, training, share=0.6)
        torch.testing.assert_close(word_states[number, : len(sentence)], expected, atol=1e-4, rtol=1e-3)
        assert word_states[number, len(sentence) :].abs().sum() == 0


@pytest.mark.parametrize("similarity", ["dot", "scaled", "cosine"])
@pytest.mark.parametrize("contextual", [False, True])
@pytest.mark.parametrize("training", [True, False])
@torch.no_grad()
def test_forgotten_slots_answer_as_if_they_had_never_been(
    build, data, bert, similarity: str, contextual: bool, training: bool
):
    settings = [f"encoder.transformer.name={bert}"] if contextual else []
    _, encoder = build(f"encoder.word_memory.similarity={similarity}", "encoder.word_memory.weight=0.6", *settings)
    encoder.write_word_memory(encoder.prepare(data.sentences, training=True))
    prepared = encoder.prepare(data.sentences, training=training)
    keys, states = raw(encoder, prepared)
    batch, recall, gone = prepared.batch(torch.arange(len(data.sentences))), encoder.word_memory, (0, 1, 4)
    before = encoder(batch).states
    recall.mask_forgotten(frozenset(recall.digests[list(gone)].tolist()))
    word_states, attention = encoder(batch).states, encoder.attention(encoder(batch))
    for number, sentence in enumerate(data.sentences):
        expected = naive(encoder, data.sentences, keys, states, number, training, share=0.6, gone=gone)
        torch.testing.assert_close(word_states[number, : len(sentence)], expected, atol=1e-4, rtol=1e-3)
    recalled = recall.places[attention.slots[attention.weights > 0]][:, 0]
    assert not set(recalled.tolist()) & set(gone)
    empty = {name: tensor.clone() for name, tensor in recall.masked_buffers().items()}
    recall.mask_forgotten(frozenset())
    assert torch.equal(encoder(batch).states, before)
    for name, tensor in empty.items():
        getattr(recall, name).copy_(tensor)
    recall.mask_forgotten(frozenset())
    assert torch.equal(encoder(batch).states, word_states)
    assert not recall.values[:-1][recall.places[:, 0] < 0].any()


@pytest.mark.parametrize("contextual", [False, True])
@torch.no_grad()
def test_the_memory_of_a_batch_is_that_of_its_sentences_one_by_one(build, data, bert, contextual: bool):
    settings = [f"encoder.transformer.name={bert}"] if contextual else []
    _, encoder = build(*settings)
    prepared = encoder.prepare(data.sentences, training=True)
    encoder.write_word_memory(prepared)
    before = [encoder.word_memory.values.clone(), encoder.word_memory.keys.clone()]
    for number in range(len(data.sentences)):
        encoded = encoder(prepared.batch(torch.tensor([number])), recall=False)
        keys = encoded.features["transformer" if contextual else "vectors"]
        encoder.word_memory.write(encoded.batch, prepared.features["word_memory"], keys, encoded.states)
    encoder.word_memory.finish_writing()
    for was, now in zip(before, (encoder.word_memory.values, encoder.word_memory.keys), strict=True):
        torch.testing.assert_close(was, now, atol=2e-3, rtol=2e-3)
    batch = encoder(prepared.batch(torch.arange(len(data.sentences)))).states
    for number, sentence in enumerate(data.sentences):
        alone = encoder(prepared.batch(torch.tensor([number]))).states[0]
        torch.testing.assert_close(batch[number, : len(sentence)], alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("similarity", ["dot", "scaled", "cosine"])
@torch.no_grad()
def test_keys_that_steps_write_are_the_vectors_as_they_were_read(build, data, similarity: str):
    recalling = ["encoder.word_memory.keys=step", f"encoder.word_memory.similarity={similarity}"]
    _, encoder = build(*recalling, "encoder.word_memory.weight=0.6")
    prepared, vectors = encoder.prepare(data.sentences, training=True), encoder.vectors.trained
    keys = []
    for number in range(len(prepared)):  # steps of one sentence each, and a change of all vectors after each
        batch = prepared.batch(torch.tensor([number]))
        encoder.train()
        encoder(batch)
        encoder.eval()
        keys.append(encoder(batch, recall=False).features["vectors"][0].clone())
        vectors += torch.randn_like(vectors)
    encoder.write_word_memory(prepared)
    queries, states = raw(encoder, prepared)
    word_states = encoder(prepared.batch(torch.arange(len(prepared)))).states
    for number, sentence in enumerate(data.sentences):
        asked = [*keys[:number], queries[number], *keys[number + 1 :]]  # a word's own slot is left out
        expected = naive(encoder, data.sentences, asked, states, number, True, share=0.6)
        torch.testing.assert_close(word_states[number, : len(sentence)], expected, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def test_words_that_training_lacks_and_an_empty_memory_change_nothing(build, data):
    _, encoder = build()
    prepared = encoder.prepare(data.sentences, training=True)
    batch = prepared.batch(torch.arange(3))
    assert torch.equal(encoder(batch).states, encoder(batch, recall=False).states)  # nothing is written yet
    encoder.write_word_memory(prepared)
    assert not torch.equal(encoder(batch).states, encoder(batch, recall=False).states)
    other = encoder.prepare(split(nearspan.markup("Zorro lives"))).batch(torch.tensor([0]))
    changed = (encoder(other).states - encoder(other, recall=False).states)[0].abs().sum(1) > 0
    assert changed.tolist() == [False, True]


def test_at_most_so_many_occurrences_are_kept(build, data):
    _, encoder = build("encoder.word_memory.most=2")
    kept: dict[str, int] = {}
    for number, place in encoder.word_memory.places.tolist():
        token = data.sentences[number].tokens[place]
        kept[token] = kept.get(token, 0) + 1
    everything = [token for sentence in data.sentences for token in sentence.tokens]
    assert kept == {token: min(2, everything.count(token)) for token in set(everything)}
    with torch.no_grad():
        encoder.write_word_memory(encoder.prepare(data.sentences, training=True))
    assert encoder.word_memory.counts.max() == 2


def test_no_gradient_flows_into_the_memory_and_all_weights_learn(build, data):
    model, encoder = build("representation.size=0")
    prepared = encoder.prepare(data.sentences, training=True)
    encoder.write_word_memory(prepared)
    batch = prepared.batch(torch.arange(len(data.sentences)))
    model.network.train()
    numbered = data.numbered_entities()
    labels = model.network.suggester.span_labels(torch.tensor(data.lengths), numbered)
    word_targets = model.network.head.word_targets(data.lengths, numbered)
    model.network(LabelledBatch(batch, labels, word_targets=word_targets)).backward()
    assert [name for name, parameter in model.network.named_parameters() if parameter.grad is None] == []
    assert not any(buffer.requires_grad for buffer in encoder.word_memory.buffers())


def memory_of(model: Model) -> dict[str, Tensor]:
    return {name: buffer.clone() for name, buffer in model.network.encoder.word_memory.named_buffers()}


CONTEXTS = ("encoder.sentence_context.size=4", "encoder.word_memory.weight=0.5")


@pytest.mark.parametrize(
    ("name", "settings"),
    [("hire", SMALL), ("hire", (*SMALL, "BERT")), ("classifier", CONTEXTS), ("instance", CONTEXTS)],
)
def test_evaluation_leaves_the_memory_alone_and_saving_keeps_predictions(
    tiny, documents, tmp_path, bert, name: str, settings
):
    chosen = [f"encoder.transformer.name={bert}" if setting == "BERT" else setting for setting in settings]
    rate = "0.5" if name == "hire" else "0.02"
    recipe = tiny(name, *chosen, "training.epochs=12", f"training.learning_rate={rate}")
    run = nearspan.train(recipe, documents, documents, out=tmp_path / "model", device="cpu")
    assert run.dev.scores.f1 > 0.3
    before = memory_of(run.model)
    assert before["counts"].sum() == len(run.model.network.encoder.word_memory.places)
    texts = ["Ada lives in Oslo with Zorro", "Bob left New York", ""]
    annotated = list(run.model.pipe(texts))
    run.model.explain(texts[0])
    after = memory_of(run.model)
    assert all(torch.equal(before[key], after[key]) for key in before)
    again = nearspan.load(tmp_path / "model", device="cpu")
    assert list(again.pipe(texts)) == annotated  # scores included
    assert [rounded(entity) for entity in again.explain(texts[0])] == [
        rounded(entity) for entity in run.model.explain(texts[0])
    ]


def rounded(entity):
    """Evidence without the last digits: a memory that is mapped from its file may be summed up in another order."""
    return json.loads(json.dumps(entity.to_dict()), parse_float=lambda number: round(float(number), 6))


def test_weights_are_kept_with_the_memory_that_they_learned_with(tiny, documents, tmp_path):
    """The weights of one epoch write the memory of the next: without development data, the last but one's are it."""
    settings = (*SMALL, "training.learning_rate=0.5")
    runs = [
        nearspan.train(
            tiny("hire", *settings, f"training.epochs={epochs}"), documents, out=tmp_path / str(epochs), device="cpu"
        )
        for epochs in (1, 2)
    ]
    assert memory_of(runs[0].model)["counts"].sum() == 0  # the first epoch learns without
    sentences = TrainingData.of(documents, tiny("hire"), split).sentences
    encoder = runs[0].model.network.encoder
    encoder.write_word_memory(encoder.prepare(sentences, training=True))
    first, second = (memory_of(run.model) for run in runs)
    assert all(torch.equal(first[key], second[key]) for key in first)
