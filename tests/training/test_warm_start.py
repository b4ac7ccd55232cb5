"""A warm start: training that begins with a trained model, its memory and all edits of that."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

import nearspan
from nearspan import markup
from nearspan.errors import ConfigError, EditError, NearspanError
from nearspan.knn import AS_TRAINED
from nearspan.training import carry_edits, starting_recipe

MEDICINES = ("[Zolmil](MEDICINE) helped [Ada](PERSON)", "[Bob](PERSON) took [Tervane](MEDICINE) in [Rome](PLACE)")


@pytest.fixture
def old(folders, tmp_path):
    """A folder of an instance model of its own, which may be edited."""
    shutil.copytree(folders["instance"], tmp_path / "old")
    return tmp_path / "old"


@pytest.fixture
def medicines():
    return [markup(text, id=f"m{number}") for number, text in enumerate(MEDICINES)]


def test_new_sentences_labels_words_and_characters_come_beside_the_old_ones(old, medicines, tmp_path):
    documents = [*medicines, markup("[Zürich](PLACE) ∆")]
    run = nearspan.train(train=documents, out=tmp_path / "new", from_model=old, device="cpu")
    model = nearspan.load(tmp_path / "new", device="cpu")
    assert model.labels[1:] == ["PERSON", "PLACE", "MEDICINE"]
    before = nearspan.load(old, device="cpu")
    texts = [sentence.text for sentence in model.datastore.sentences]
    assert texts == [sentence.text for sentence in before.datastore.sentences] + [each.text for each in documents]
    words = model.network.encoder.vectors.index
    assert {"zolmil", "zürich"} <= words.keys()
    assert [w for w in before.network.encoder.vectors.index if w not in words] == []
    assert {"ü", "∆"} <= set(model.network.encoder.word_features["characters"].vocabulary["characters"])
    assert run.origin.startswith(f"trained from {old} on 3 new sentences, in 20 epochs, 12 of 12 others rehearsed")
    assert run.origin in (tmp_path / "new" / "README.md").read_text()
    assert json.loads((tmp_path / "new" / "result.json").read_text())["origin"] == run.origin


def test_what_is_new_is_learned_and_what_is_old_is_not_forgotten(old, medicines, documents, tmp_path):
    run = nearspan.train(
        train=medicines, dev=[*documents, *medicines], out=tmp_path / "new", from_model=old, device="cpu"
    )
    assert run.dev.scores.f1 > 0.9


@pytest.mark.parametrize("head", ["instance", "classifier"])
def test_without_steps_a_grown_model_says_of_old_labels_what_the_old_one_said(folders, head, documents, tmp_path):
    recipe = starting_recipe("", folders[head]).override(["training.epochs=1", "training.learning_rate=1e-30"])
    new = [markup("[Ada](PERSON) has [xyz](MEDICINE)")]
    nearspan.train(recipe, new, out=tmp_path / "new", from_model=folders[head], device="cpu")
    grown, before = (nearspan.load(path, device="cpu") for path in (tmp_path / "new", folders[head]))
    for document in documents[:4]:
        corpora = [model.encode(model.split(document)) for model in (grown, before)]
        vectors = [model.span_vectors(corpus)[0] for model, corpus in zip((grown, before), corpora, strict=True)]
        assert torch.allclose(vectors[0].steps, vectors[1].steps, atol=1e-5)
    if head == "classifier":
        weights = grown.network.head.weight, before.network.head.weight
        assert torch.allclose(weights[0][:2], weights[1], atol=1e-6)
        assert torch.allclose(weights[0][2], weights[1].mean(0), atol=1e-6)  # a new label begins as the others' mean


def test_the_edits_of_a_memory_are_learned_and_the_journal_says_so(old, tmp_path):
    model = nearspan.load(old, device="cpu")
    model.memory.add("[Oslo](PERSON) sleeps in [Ada](PLACE)", weight="enough")
    removed = model.memory.sentences("They left")[0]
    model.memory.remove(removed.id)
    span = model.memory.sentences("New York")[0]
    model.memory.remove(span.id, span.entities[0].span)
    assert model.memory.sentences("sleeps")[0].carried
    run = nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")
    assert "1 sentence of its memory that training had not seen" not in run.origin  # and the one with a removed span
    assert "2 sentences of its memory that training had not seen" in run.origin
    assert "1 correction went into the weights" in run.origin
    trained = nearspan.load(tmp_path / "new", device="cpu")
    [edit] = trained.memory.log()
    assert (edit.kind, edit.summary) == ("train", run.origin)
    assert "'Oslo' PERSON" in edit.receipt[0]
    assert trained("Oslo sleeps in Ada").entities == markup("[Oslo](PERSON) sleeps in [Ada](PLACE)").entities
    assert trained.memory.sentences(removed.text) == []
    assert next(each.removed for each in trained.memory.sentences("New York")) == (span.entities[0].span,)
    with pytest.raises(EditError, match="no edit to undo"):
        trained.memory.undo()


def test_there_must_be_something_new(old, tmp_path):
    with pytest.raises(NearspanError, match=r"nothing to train on: the memory in .* has no edits"):
        nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")


def test_a_memory_that_was_built_after_training_is_new(old, documents, tmp_path):
    nearspan.load(old, device="cpu").memory.build(documents[:8])
    run = nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")
    assert "on 8 sentences of its memory that training had not seen" in run.origin


def test_with_a_replaced_memory_the_weights_alone_are_taken(old, medicines, tmp_path):
    options = {"out": tmp_path / "new", "from_model": old, "device": "cpu"}
    run = nearspan.train(train=medicines, replace_memory=True, **options)
    assert run.model.labels[1:] == ["MEDICINE", "PERSON", "PLACE"]
    assert len(run.model.datastore.sentences) == 2


def test_a_recipe_of_other_parts_is_refused_with_what_differs(old, tiny, medicines, tmp_path):
    options = {"train": medicines, "out": tmp_path / "new", "from_model": old, "device": "cpu"}
    message = r"of different parts: encoder.bilstm.size is 9, in the model 8. Leave the recipe out"
    with pytest.raises(ConfigError, match=message):
        nearspan.train(tiny("instance", "encoder.bilstm.size=9"), **options)
    free = tiny("instance", "training.epochs=1", "encoder.bilstm.dropout=0.2", "head.neighbours=3")
    assert nearspan.train(free, **options).epochs == 1


def test_sentences_with_removed_spans_are_remembered_and_not_learned(old, tmp_path):
    model = nearspan.load(old, device="cpu")
    sentence = model.memory.sentences("Paris is far")[0]
    model.memory.remove(sentence.id, sentence.entities[0].span)
    with pytest.raises(NearspanError, match="nothing to train on"):
        nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")


def test_a_stopped_warm_start_goes_on_from_its_checkpoint(old, medicines, tmp_path):
    class Stop(nearspan.training.TrainingCallback):
        def on_epoch_end(self, progress, dev):
            if progress.epoch == 2:
                raise KeyboardInterrupt

    recipe = starting_recipe("", old).override(["training.epochs=4"])
    options = {"train": medicines, "from_model": old, "device": "cpu"}
    with pytest.raises(KeyboardInterrupt):
        nearspan.train(recipe, out=tmp_path / "stopped", callbacks=[Stop()], **options)
    nearspan.train(recipe, out=tmp_path / "stopped", resume=True, **options)
    nearspan.train(recipe, out=tmp_path / "whole", **options)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("stopped", "whole")]
    assert weights[0] == weights[1]


def test_edits_that_were_made_meanwhile_are_carried_over(old, tmp_path):
    model = nearspan.load(old, device="cpu")
    model.memory.add("[Ann](PERSON) sang")  # what training has seen, as the next one, which is undone
    model.memory.add("[Zed](PERSON) slept")
    nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")
    model.memory.undo()
    model.memory.add("[Joe](PERSON) came")
    model.memory.remove(model.memory.sentences("Joe came")[0].id)
    model.memory.add("[Zoe](PERSON) left [Kyiv](PLACE). [Kyiv](PLACE) is far.")
    far = model.memory.sentences("Kyiv is far")[0]
    model.memory.relabel(far.id, far.entities[0].span, "PERSON")
    march = model.memory.sentences("21 March")[0]
    model.memory.relabel(march.id, nearspan.Span.of(4, 8), "PLACE")
    nobody = model.memory.sentences("Nobody")[0]
    model.memory.remove(nobody.id)
    lima = model.memory.sentences("born in Lima")[0]
    model.memory.remove(lima.id, lima.entities[0].span)
    assert carry_edits(old, tmp_path / "new") == 5
    views = [nearspan.load(path, device="cpu").memory.sentences(limit=50) for path in (old, tmp_path / "new")]
    plain = [[(each.text, each.entities, each.removed) for each in of_model] for of_model in views]
    assert plain[0] == plain[1]
    with pytest.raises(EditError, match="was not trained from the memory"):
        carry_edits(tmp_path / "new", old)


def test_an_identifier_that_was_taken_away_meanwhile_does_not_come_back(old, tmp_path):
    memory = nearspan.load(old, device="cpu").memory
    entity = replace(nearspan.Entity.of(0, 4, "PLACE"), attributes={"identifier": "Q585"})
    memory.add(nearspan.Document("Oslo is far", (entity,)))
    nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")
    [oslo] = memory.sentences("Oslo is far")
    memory.relabel(oslo.id, entity.span, "")
    memory.relabel(oslo.id, entity.span, "PLACE")
    carry_edits(old, tmp_path / "new")
    [carried] = nearspan.load(tmp_path / "new", device="cpu").memory.sentences("Oslo is far")
    assert [(each.label, each.identifier) for each in carried.entities] == [("PLACE", "")]


def test_several_corpora_have_labels_of_their_own(tiny, documents, medicines, tmp_path):
    corpora = {"places": documents, "medicines": medicines}
    run = nearspan.train(tiny("instance", "training.batch=1"), corpora, out=tmp_path / "m", device="cpu")
    assert run.model.labels[1:] == [
        "medicines/MEDICINE",
        "medicines/PERSON",
        "medicines/PLACE",
        "places/PERSON",
        "places/PLACE",
    ]
    with pytest.raises(ConfigError, match="one corpus"):
        nearspan.train(train=corpora, out=tmp_path / "n", from_model=tmp_path / "m", device="cpu")


def test_a_source_of_several_corpora_goes_onto_other_labels_and_is_trained_on(tiny, documents, medicines, tmp_path):
    corpora = {"places": documents, "medicines": medicines}
    recipe = tiny("instance-source", "encoder.transformer=none", "training.batch=1")
    nearspan.train(recipe, corpora, out=tmp_path / "source", device="cpu")
    gods = [markup("[Zagreus](GOD) sang of [nectar](DRINK)"), markup("[Hermes](GOD) drank [wine](DRINK) there")]
    model = nearspan.load(tmp_path / "source", device="cpu")
    model.memory.build(gods, labels_from=gods)
    assert model.labels == ["", "DRINK", "GOD"]
    assert model.datastore.vote.fitted == 2
    again = nearspan.train(
        train=gods, out=tmp_path / "n", from_model=tmp_path / "source", replace_memory=True, device="cpu"
    )
    assert again.model.trained_labels == ["DRINK", "GOD"]
    assert again.model.datastore.vote == AS_TRAINED


def test_the_command_begins_with_a_model_and_names_corpora(nearspan_command, old, documents, medicines, tmp_path):
    nearspan.write(medicines, tmp_path / "new.jsonl")
    ran = nearspan_command("train", "--from", old, "--train", tmp_path / "new.jsonl", "--out", tmp_path / "new")
    assert ran.code == 0, ran.err
    assert "MEDICINE" in nearspan.load(tmp_path / "new", device="cpu").labels
    ran = nearspan_command("train", "--out", tmp_path / "none")
    assert (ran.code, "give --train, or --from" in ran.err) == (2, True)
    mixed = ("--train", f"a={tmp_path / 'new.jsonl'}", "--train", tmp_path / "new.jsonl")
    ran = nearspan_command("train", "--out", tmp_path / "none", *mixed)
    assert (ran.code, "name all of them, or none" in ran.err) == (2, True)


def test_document_names_and_weights_that_somebody_gave_stay(old, tmp_path):
    model = nearspan.load(old, device="cpu")
    model.memory.add(replace(markup("[Zed](PERSON) slept"), id="mine"), weight=3, entity_weight=8)
    nearspan.train(out=tmp_path / "new", from_model=old, device="cpu")
    [sentence] = nearspan.load(tmp_path / "new", device="cpu").memory.sentences(document="mine")
    assert (sentence.weight, sentence.entity_weight) == (3, 1)  # training has learned its entities
