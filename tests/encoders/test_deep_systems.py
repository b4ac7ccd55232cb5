"""Deep spans and their baselines as whole systems: trained, saved, asked why, and given long documents."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.evaluation import evaluate
from nearspan.model import Model
from nearspan.model.predict import SentenceWindows
from nearspan.training import loop

SMALL = (
    "training.batch=4",
    "training.epochs=50",
    "training.learning_rate=0.01",
    "encoder.transformer.learning_rate=0.002",
    "encoder.transformer.dropout=0.0",
    "encoder.transformer.overlap=4",
    "suggester.max_width=5",
)
READER = (
    "representation.projection.size=12",
    "representation.projection.dropout=0.0",
    "representation.projection.vector_dropout=0.0",
    "representation.projection.bilstm.size=6",
    "representation.projection.bilstm.dropout=0.0",
    "representation.dropout=0.0",
)
ENDS = (
    "representation.end_size=8",
    "representation.dropout=0.0",
    "representation.end_dropout=0.0",
    "encoder.bilstm.size=6",
    "encoder.bilstm.dropout=0.0",
)
INSTANCES = (*READER, "head.kind=instances", "head.neighbours=4", "representation.projection.activation=linear")
SYSTEMS = {
    "dspert": ("dspert", READER),
    "shallow": ("shallow", READER),
    "biaffine": ("biaffine", ENDS),
    "instances": ("dspert", INSTANCES),
    "deberta": ("dspert", READER),
}


@pytest.fixture(scope="module")
def folders(encoders, documents, tmp_path_factory) -> dict[str, Path]:
    """Models that know their training data by heart."""
    made = {}
    for name, (recipe, settings) in SYSTEMS.items():
        made[name] = tmp_path_factory.mktemp("deep") / name
        encoder = encoders.get(name, encoders["bert"])
        chosen = nearspan.recipe(recipe).override([f'encoder.transformer.name="{encoder}"', *SMALL, *settings])
        nearspan.train(chosen, documents, documents, out=made[name], device="cpu")
    return made


@pytest.fixture(params=SYSTEMS)
def model(request, folders) -> Model:
    return nearspan.load(folders[request.param], device="cpu")


def test_what_was_learned_is_found_again_after_loading(model: Model, documents):
    assert evaluate(model, documents).scores.f1 > 0.9


def test_every_entity_has_evidence_and_the_instance_heads_adds_up(model: Model):
    explained = model.explain("Ada lives in Oslo.", k=10**6)
    assert explained
    for evidence in explained:
        assert evidence.strength == ("exact" if model.network.head.uses_datastore else "nearest")
        assert any(evidence.neighbours.values())
        if model.network.head.uses_datastore:
            for label, group in evidence.neighbours.items():
                listed = sum(near.weight for near in group)
                assert listed == pytest.approx(evidence.probabilities[label], abs=1e-5)
            assert sum(evidence.probabilities.values()) == pytest.approx(1, abs=1e-5)


@pytest.fixture
def batches(model: Model, monkeypatch) -> list[int]:
    """How many words, padding included, each batch has that the model reads from now on."""
    sizes: list[int] = []
    read = type(model.network.encoder).forward

    def watch(encoder, batch):
        sizes.append(batch.rows.numel())
        return read(encoder, batch)

    monkeypatch.setattr(type(model.network.encoder), "forward", watch)
    return sizes


def repeat_sentences(documents: list[Document], words: int) -> Document:
    """One document of all the sentences of some, again and again, with their entities."""
    text, entities, sentences, count = "", [], [], 0
    while count < words:
        for document in documents:
            start = len(text)
            text += document.text + " "
            count += len(document.text.split())
            sentences.append((start, len(text)))
            entities += [Entity.of(start + each.start, start + each.end, each.label) for each in document.entities]
    return Document(text, tuple(entities), sentences=tuple(sentences))


def test_of_a_document_of_20_000_words_nothing_is_lost(model: Model, documents, batches: list[int]):
    gold = repeat_sentences(documents, 20_000)
    assert evaluate(model, [gold]).scores.f1 == evaluate(model, documents).scores.f1
    assert sum(batches) > 20_000
    assert max(batches) <= 2048  # whatever the document's length


def test_a_sentence_of_20_000_words_is_read_in_windows_that_own_each_word_once(model: Model, batches: list[int]):
    [sentence] = model.split(Document("Ada lives in Oslo and " * 4000))
    windows = SentenceWindows.of(model.network, [sentence]).windows
    owned = [window.start + word for window in windows for word in range(window.first, window.stop)]
    assert owned == list(range(20_000))
    list(model.pipe([sentence.document]))
    assert max(batches) <= 2048


def test_a_memory_that_only_shows_is_kept_small(encoders, documents, tmp_path, monkeypatch):
    recipe, settings = SYSTEMS["shallow"]
    chosen = nearspan.recipe(recipe).override([f'encoder.transformer.name="{encoders["bert"]}"', *SMALL, *settings])
    monkeypatch.setattr(loop, "EVIDENCE", 1500)  # bytes
    model = nearspan.train(chosen.override(["training.epochs=1"]), documents, out=tmp_path / "m", device="cpu").model
    assert 0 < len(model.datastore) * 12 * 2 <= 1500
    assert all(sentence.entities for sentence in model.datastore.sentences)
    [evidence] = [model.explain_span("Ada lives in Oslo.", Span.of(0, 3))]
    assert any(evidence.neighbours.values())


@pytest.mark.parametrize("shared", ["false", "true"])
@pytest.mark.parametrize("kind", ["bert", "deberta"])
def test_deep_spans_stand_beside_the_layers_that_are_kept(encoders, documents, tmp_path: Path, kind: str, shared: str):
    name = f'encoder.transformer.name="{encoders[kind]}"'
    settings = (name, *SMALL, *READER, "training.epochs=1", "encoder.transformer.layers=1")
    chosen = nearspan.recipe("dspert").override([*settings, f"representation.shared={shared}"])
    trained = nearspan.train(chosen, documents, documents, out=tmp_path / "out", device="cpu").model
    loaded = nearspan.load(tmp_path / "out", device="cpu")
    for model in (trained, loaded):
        assert len(model.network.encoder.features["transformer"].encoder.encoder.layer) == 1
        assert len(model.network.representation.layers) == 1
    assert list(loaded.pipe(documents)) == list(trained.pipe(documents))


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_lower_precision_finds_the_same_in_what_was_learned_by_heart(model: Model, documents, precision: str):
    exact = evaluate(model, documents)
    lower = evaluate(model.set_precision(precision), documents)
    assert lower.scores.f1 > 0.9
    assert lower.count_changed(exact) <= 2
    pairs = zip(exact.predicted, lower.predicted, strict=True)
    scores = [[[entity.score for entity in document.entities] for document in pair] for pair in pairs]
    assert any(ours != theirs for ours, theirs in scores)  # it does compute in another precision


@pytest.mark.parametrize("name", ["dspert", "deberta"])
def test_the_weights_that_are_saved_and_trained_stay_in_full_precision(folders, tmp_path: Path, name: str):
    model = nearspan.load(folders[name], device="cpu", precision="bf16")
    model.save(tmp_path / "saved")
    weights = load_file(folders[name] / "model.safetensors")
    saved = load_file(tmp_path / "saved" / "model.safetensors")
    assert all(torch.equal(weights[place], saved[place]) for place in weights)
    model.network.train()
    assert model.network.precision == "float32"
