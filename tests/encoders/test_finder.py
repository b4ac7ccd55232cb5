"""Static vectors that the network does not read: similar sentences are found by them, and by nothing else."""

import shutil
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.encoders import EncoderSettings
from nearspan.encoders.encoder import Encoder
from nearspan.encoders.static_vectors import StaticVectorSettings
from nearspan.errors import ConfigError
from nearspan.heads import Query
from nearspan.knn import nearest_sentences
from nearspan.memory.editor import Editor
from nearspan.segment import split

VECTORS = {
    "lives": (1, 0, 0),
    "in": (0, 1, 0),
    "left": (0, 0, 1),
    "oslo": (1, 1, 0),
    "Ada": (1, 1, 1),
    "21": (0, 1, 1),
    "rain": (0, 2, 1),
    "the": (1, 0, 1),
    "likes": (3, 0, 1),  # two pieces
}
TEXTS = (
    "Ada lives in Oslo",
    "Eve likes the rain in Rome",
    "Eve left Rome on 21 March",
    "Bob and the rain",
    "Nobody lives there",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items()))
    return str(path)


@pytest.fixture(scope="module", params=["characters", "words of an encoder", "pieces of an encoder"])
def folder(request, file: str, tiny, encoders, documents, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that know their training data by heart, and find it by the file."""
    settings = [f"encoder.vectors.file={file}", "encoder.vectors.read=false"]
    if request.param != "characters":
        settings += [f'encoder.transformer={{name="{encoders["bert"]}", overlap=4}}']
    if request.param.startswith("pieces"):
        settings += ["suggester.unit=pieces", "suggester.max_width=12"]
    out = tmp_path_factory.mktemp("found") / "model"
    chosen = tiny("instance", *settings, "training.epochs=25", "training.learning_rate=0.02")
    nearspan.train(chosen, documents, documents, out=out, device="cpu")
    return out


def mean(tokens: list[str]) -> list[float]:
    """The mean over a sentence's words, one after the other; a last number is for sentences without a known word."""
    total = [0.0, 0.0, 0.0]
    for token in tokens:
        for i, number in enumerate(VECTORS.get(token) or VECTORS.get(token.lower()) or (0, 0, 0)):
            total[i] += number
    return [*total, float(not any(total))]


def cosine(vector: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(vector, other, strict=True)) / sqrt(
        sum(a * a for a in vector) * sum(b * b for b in other)
    )


def naive(tokens: list[str], memory: list[list[str]], count: int) -> list[int]:
    """The nearest sentences, of equally near ones the earlier."""
    asked = mean(tokens)
    return sorted(range(len(memory)), key=lambda i: (-round(cosine(asked, mean(memory[i])), 5), i))[:count]


def whole(sentence) -> list[str]:
    """Its words, as often as each has pieces."""
    text, words = sentence.document.text, sentence.words
    return [text[words[a][0] : words[b - 1][1]] for a, b in sentence.runs for _ in range(b - a)]


@torch.inference_mode()
def test_predictions_and_evidence_rest_on_the_sentences_that_the_vectors_find(folder: Path, documents):
    model = nearspan.load(folder, device="cpu")
    assert model.datastore is not None
    there = [whole(sentence) for document in documents for sentence in model.split(document)]
    shown = 0
    for text in TEXTS:
        [sentence] = model.split(nearspan.Document(text))
        batch = model.encode([sentence]).batch(torch.tensor([0]))
        near = naive(whole(sentence), there, model.recipe.head.neighbours)
        means = model.network.encoder.sentence_vectors(model.network.encoder(batch))
        assert nearest_sentences(model.datastore, means, len(near)).tolist() == [near]
        searched = Query(model.network, batch, model.datastore)
        chosen = Query(model.network, batch, model.datastore, torch.tensor([near]))
        assert torch.equal(model.network.predict_proba(searched), model.network.predict_proba(chosen))
        for evidence in model.explain(text):
            used = {neighbour.sentence_id for some in evidence.neighbours.values() for neighbour in some}
            assert used <= set(near)
            shown += len(used)
    assert shown > 3


def test_a_saved_model_finds_the_same_without_the_file(folder: Path, documents):
    model = nearspan.load(folder, device="cpu")
    kept = model.datastore
    assert kept is not None
    labelled = model.label_documents(documents)
    model.build_datastore(labelled)
    torch.testing.assert_close(model.datastore.sentence_vectors, kept.sentence_vectors)
    assert kept.sentence_vectors.shape == (len(documents), 4)


def test_a_sentence_without_a_known_word_finds_others_such_and_can_be_taught(folder: Path, tmp_path: Path):
    editor = Editor.open(shutil.copytree(folder, tmp_path / "model"), device="cpu")
    text = "Qwxz zork"
    editor.add(nearspan.markup("[Qwxz](PLACE) zork", id="new"))
    [taught] = editor.model.pipe([text])
    assert [(entity.span.text(text), entity.label) for entity in taught.entities] == [("Qwxz", "PLACE")]


def sentences(*texts: str):
    return [sentence for text in texts for sentence in split(nearspan.markup(text))]


def test_they_are_no_feature_and_do_not_learn(file: str):
    words, characters = StaticVectorSettings(file=file, read=False), {"kind": "cnn", "size": 4, "filters": 5}
    encoder = Encoder.from_corpus(
        EncoderSettings(vectors=words, characters=characters), sentences("The king in 1984")
    ).eval()
    encoded = encoder(encoder.prepare(sentences("Oslo the king 7", "21", "whale")).batch(torch.arange(3)))
    assert set(encoded.features) == {"characters"}
    assert encoded.states.shape == (3, 4, 5)
    assert encoder.vectors is None
    # words without a vector are 0, numbers have their own
    assert encoder.sentence_vectors(encoded).tolist() == [[0.5, 0.25, 0.25, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert not [name for name, weight in encoder.named_parameters() if "finder" in name and weight.requires_grad]


@pytest.mark.parametrize(
    ("recipe", "settings", "problem"),
    [
        ("instance", ["encoder.vectors.file="], r"give encoder\.vectors\.file, and leave"),
        ("instance", ["encoder.vectors.trainable=true"], r"give encoder\.vectors\.file, and leave"),
        ("instance", ["encoder.characters=none"], "something to read"),
        ("classifier", [], "are for a head that searches for similar sentences"),
    ],
)
def test_vectors_that_nothing_asks_for_are_refused(
    file: str, tiny: Callable, documents, tmp_path: Path, recipe, settings, problem
):
    chosen = tiny(recipe, f"encoder.vectors.file={file}", "encoder.vectors.read=false", *settings)
    with pytest.raises(ConfigError, match=problem):
        nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu")


def test_vectors_that_know_no_word_are_refused(tiny, documents, tmp_path: Path):
    (tmp_path / "v.txt").write_text("hval 1 0\nfisk 0 1\n")
    chosen = tiny("instance", f"encoder.vectors.file={tmp_path / 'v.txt'}", "encoder.vectors.read=false")
    with pytest.raises(ConfigError, match=r"no word of the training data has a vector in .*v\.txt"):
        nearspan.train(chosen, documents, out=tmp_path / "out", device="cpu")
