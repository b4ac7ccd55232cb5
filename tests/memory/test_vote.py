"""The vote of a memory with labels that training did not know: fitted, kept, undone, and exact."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.heads import Query
from nearspan.knn import AS_TRAINED, Vote
from nearspan.memory import Editor

DOCUMENTS = [
    nearspan.markup(f"[{name}](DRUG) helped my [{organ}](ORGAN) well")
    for name, organ in (("Aspirin", "head"), ("Valium", "arm"), ("Insulin", "leg"), ("Codeine", "knee"))
]


@pytest.fixture
def editor(folders, tmp_path: Path) -> Editor:
    shutil.copytree(folders["instance"], tmp_path / "model")
    return Editor.open(tmp_path / "model", device="cpu")


def test_a_memory_of_trained_labels_counts_as_in_training(editor: Editor):
    assert editor.model.datastore.vote == AS_TRAINED
    editor.add("[Oslo](PLACE) is cold")
    assert editor.model.datastore.vote == AS_TRAINED


def test_a_memory_on_another_label_set_has_a_vote_that_is_kept(editor: Editor, tmp_path: Path):
    editor.build(DOCUMENTS, labels_from=DOCUMENTS)
    vote = editor.model.datastore.vote
    assert vote.fitted == 4
    assert vote.known == set(editor.model.trained_labels)
    editor.model.save(tmp_path / "copy")
    for folder in (editor.folder, tmp_path / "copy"):
        assert nearspan.load(folder, device="cpu").datastore.vote == vote


def test_a_vote_comes_with_an_edit_and_goes_with_its_undo(editor: Editor):
    other = Editor.open(editor.folder, "cpu")
    edits = [editor.add(document) for document in DOCUMENTS]
    votes = [edit.change.get("vote") for edit in edits]
    assert votes[0] is None  # a single sentence is nothing to fit a vote on
    assert votes[1]["fitted"] == 2
    other.refresh()
    for model in (other.model, nearspan.load(editor.folder, device="cpu")):
        assert model.datastore.vote == editor.model.datastore.vote != AS_TRAINED
    for _ in DOCUMENTS[1:]:
        editor.undo()
    assert editor.model.datastore.vote == AS_TRAINED


def test_labels_that_training_knew_keep_their_weight(editor: Editor):
    for document in DOCUMENTS:
        editor.add(document)
    datastore = editor.model.datastore
    weights = datastore.vote.label_weights(datastore.names)
    trained = len(editor.model.trained_labels)
    assert weights[: 1 + trained].tolist() == [1.0] * (1 + trained)
    assert datastore.vote.temperature == 1
    assert datastore.vote.neighbours == 0


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("by_words", [True, False])
@torch.inference_mode()
def test_evidence_adds_up_to_the_probabilities(editor: Editor, search: str, by_words: bool):
    for document in DOCUMENTS:
        editor.add(document, weight=1)
    model = editor.model.set_search(search)
    network, datastore = model.network, model.datastore
    if not by_words:
        datastore = datastore.with_vectors(datastore.rows(slice(None)), datastore.sentence_vectors)
        network.is_additive = False
    vote = Vote(7.0, 1.7, 3, frozenset(model.trained_labels), known_times=2.5)
    datastore = replace(datastore, vote=vote)
    corpus = model.encode(model.split(nearspan.Document("Codeine helped Ada in Oslo")))
    query = Query(network, corpus.batch(torch.tensor([0])), datastore)
    probabilities = network.predict_proba(query)
    for row in range(len(probabilities)):
        contributions = network.head.contributions(query, row)
        labels = datastore.labels[contributions.rows]
        sums = torch.zeros(len(datastore.names), dtype=torch.double).index_add_(0, labels, contributions.weights)
        assert torch.allclose(sums.float(), probabilities[row], atol=1e-5)
        scores = query.vectors[row].double() @ datastore.rows(contributions.rows).double().T / 1.7
        plain = (scores.exp() * vote.label_weights(datastore.names)[labels]).double()
        assert torch.allclose(plain / plain.sum(), contributions.weights, atol=1e-6)


@torch.inference_mode()
def test_spans_that_may_be_entities_are_not_passed_over(editor: Editor):
    for document in DOCUMENTS:
        editor.add(document, weight=1)
    model = editor.model
    datastore = replace(model.datastore, vote=Vote(times=50.0, known=frozenset(model.trained_labels)))
    sentences = [sentence for document in DOCUMENTS * 3 for sentence in model.split(document)]
    for batch in model.encode(sentences).reading_batches():
        query = Query(model.network, batch, datastore)
        exact = model.network.predict_proba(query)
        quick = model.network.predict_proba(query, entities_only=True)
        assert torch.equal(exact.argmax(1), quick.argmax(1))


def test_a_vote_is_fitted_where_sentences_have_no_others_to_be_read_by(editor: Editor):
    editor.build(DOCUMENTS[:1], labels_from=DOCUMENTS[:1])
    for weight in ("enough", 1):
        editor.add("Nobody [sang](SONG) [Aspirin](ORGAN)", weight=weight)
    assert editor.model.datastore.vote.fitted >= 2
