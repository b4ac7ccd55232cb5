"""All of a memory at once: what is settled early or summed up by blocks says what the plain sum says."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch

from nearspan.heads import Query
from nearspan.knn import entity_sums, whole_memory, word_scan
from nearspan.knn.entity_sums import entity_weights
from nearspan.model import Model
from nearspan.spans import EndSums
from nearspan.training.data import TrainingData

LN_2 = 0.6931471805599453


@pytest.fixture(params=["flat", "nested"])
def model(request, tiny, documents) -> Model:
    """An instance model that learned nothing yet, asked with its whole memory."""
    recipe = tiny("instance", f"representation.form={request.param}", "head.search=whole")
    data = TrainingData.of(documents, recipe, recipe.splitter())
    torch.manual_seed(3)
    model = Model.from_corpus(recipe, data.sentences, data.labels)
    model.network.eval()
    model.build_datastore(data.labelled_sentences)
    return model


@pytest.fixture
def small_parts(monkeypatch):
    """Blocks, chunks and samples so small that this memory has many."""
    monkeypatch.setattr(word_scan, "BLOCK", 4)
    monkeypatch.setattr(word_scan, "CELLS", 64)
    monkeypatch.setattr(entity_sums, "COLUMNS", 3)
    monkeypatch.setattr(whole_memory, "SAMPLE", 8)
    monkeypatch.setattr(whole_memory, "ENDS", 16)
    monkeypatch.setattr(whole_memory, "ROWS", 7)
    monkeypatch.setattr(whole_memory, "PART", 3)


def asked(model: Model, documents, scale: float, *, entities: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """P(y|s), and the plain sum over all spans of the memory, for vectors `scale` times as large."""
    sentences = [sentence for document in documents for sentence in model.split(document)]
    query = Query(model.network, model.encode(sentences).batch(torch.arange(len(sentences))), model.datastore)
    query.encoded.states.mul_(scale)
    memory = model.datastore
    scores = query.vectors.double() @ memory.rows(slice(None)).double().T + memory.offsets(slice(None)).double()
    plain = scores.new_zeros(len(scores), len(memory.names))
    plain.index_add_(1, memory.labels.clamp(min=0), scores.softmax(1))
    return model.network.predict_proba(query, entities_only=entities), plain


def set_apart(model: Model, places: Iterable[int] = (0, 2), *, removed: bool = False) -> None:
    """Let some sentences count three times, or have no first word any more."""
    change = {"removed": ((0, 1),)} if removed else {"weight": 3.0}
    memory = model.datastore
    for place in places:
        memory.sentences[place] = replace(memory.sentences[place], **change)
    suggester = model.network.suggester
    vectors = memory.vectors.words()
    model.datastore = type(memory).of(memory.sentences, memory.own_names, suggester, vectors, memory.sentence_vectors)


@torch.no_grad()
@pytest.mark.parametrize("scale", [1, 100, 400])
@pytest.mark.parametrize("apart", ["none", "weighted", "removed"])
def test_equal_to_the_plain_sum(model, documents, small_parts, scale: float, apart: str):
    if apart != "none":
        set_apart(model, removed=apart == "removed")
    probabilities, plain = asked(model, documents, scale)
    torch.testing.assert_close(probabilities.double(), plain, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("precise", [0.0, 1.0])
def test_single_precision_with_the_heaviest_blocks_in_double_or_all_in_double(
    model, documents, small_parts, monkeypatch, precise: float
):
    monkeypatch.setattr(whole_memory, "PRECISE", precise)
    probabilities, plain = asked(model, documents, 100)
    torch.testing.assert_close(probabilities.double(), plain, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("scale", [1, 100, 10_000])
def test_spans_that_are_null_are_left_early_where_only_entities_matter(model, documents, small_parts, scale: float):
    probabilities, plain = asked(model, documents, scale, entities=True)
    assert torch.equal(probabilities.argmax(1), plain.argmax(1))
    settled = probabilities[:, 0] == 1
    assert (plain[settled, 0] > 0.5).all()
    assert settled.any()
    torch.testing.assert_close(
        probabilities[~settled].double(), plain[~settled], atol=1e-5 * max(1, scale / 400), rtol=0
    )


@torch.no_grad()
def test_scores_beyond_double_precision(model, documents, small_parts):
    """A product of 2^2000 is summed up by logarithms."""
    probabilities, plain = asked(model, documents, 30_000)
    assert torch.equal(probabilities.argmax(1), plain.argmax(1))
    assert not probabilities.isnan().any()


@torch.no_grad()
def test_what_vanishes_beside_far_larger_factors_is_weighed_in_double_precision(model, documents, monkeypatch):
    """The two ends of a span may score very high, and their sum not."""
    dtypes, weigh = [], whole_memory.entity_weights
    monkeypatch.setattr(whole_memory, "entity_weights", lambda *args: (dtypes.append(args[-1]), weigh(*args))[1])
    asked(model, documents, 1)
    assert torch.float64 not in dtypes
    probabilities, plain = asked(model, documents, 2000)
    assert torch.float64 in dtypes
    assert torch.equal(probabilities.argmax(1), plain.argmax(1))


@torch.no_grad()
def test_a_memory_without_entities_is_null(model, documents):
    memory = model.datastore
    sentences = [replace(sentence, entities=()) for sentence in memory.sentences]
    words = memory.vectors.words()
    model.datastore = type(memory).of(
        sentences, memory.own_names, model.network.suggester, words, memory.sentence_vectors
    )
    probabilities, _ = asked(model, documents, 100)
    assert (probabilities[:, 0] == 1).all()


@torch.no_grad()
def test_a_memory_whose_sentences_are_all_set_apart(model, documents):
    set_apart(model, range(len(model.datastore.sentences)))
    probabilities, plain = asked(model, documents, 1)
    torch.testing.assert_close(probabilities.double(), plain, atol=1e-5, rtol=0)


@torch.no_grad()
def test_a_memory_of_one_word(model, documents):
    """There is no block that is followed by enough words."""
    memory = model.datastore
    place = min(range(len(memory.sentences)), key=lambda place: len(memory.sentences[place].words))
    sentence = memory.sentences[place]
    words = memory.vectors.words()
    first = sum(len(each.words) for each in memory.sentences[:place])
    rows = slice(first, first + len(sentence.words))
    begins = words.begins if memory.vectors.alike else words.begins[rows]
    kept = type(words)(begins, words.steps[rows])
    model.datastore = type(memory).of(
        [sentence], memory.own_names, model.network.suggester, kept, memory.sentence_vectors[place : place + 1]
    )
    probabilities, plain = asked(model, documents, 100)
    torch.testing.assert_close(probabilities.double(), plain, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("dtype", "room"), [(torch.float32, 100), (torch.float64, 900)])
@pytest.mark.parametrize("shared", [True, False])
def test_entities_weigh_for_all_spans_what_their_scores_say(monkeypatch, shared: bool, dtype, room: int):
    monkeypatch.setattr(entity_sums, "COLUMNS", 2)
    torch.manual_seed(0)
    vectors, labels, log_weights = torch.randn(5, 4), torch.tensor([1, 1, 1, 2, 3]), torch.rand(5)
    left, right = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    between = None
    if shared:
        between = torch.randn(4)
        left[:, 1:] = between - right[:, :-1]
    weights, lacking = entity_weights(EndSums(left, right, between), vectors, labels, log_weights, 2, dtype)
    for first in range(3):
        for width in range(min(2, 3 - first)):
            scores = (left[:, first] + right[:, first + width]) @ vectors.T + log_weights
            torch.testing.assert_close(weights[:, first, width].float() * LN_2, scores.logsumexp(1))
    assert (lacking < weights - room)[:, :2].all()
