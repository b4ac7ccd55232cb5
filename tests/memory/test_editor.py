"""The editor: an edited memory predicts like one that was built from the edited data."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError, EditError
from nearspan.heads import Query
from nearspan.io.memory_files import clear_memory
from nearspan.knn import Datastore
from nearspan.memory.editor import Editor
from nearspan.model import Model
from nearspan.model.predict import SentenceWindows

TEXTS = ("Ada lives in Oslo", "Bob Stone met Eve Moon in New York", "Zed and Ada like unseen Paris", "Lima")
ADDED = nearspan.markup("[Zed](PERSON) left. [Vienna](PLACE) is far from [Lima](PLACE)", id="new")


def probabilities(model: Model) -> torch.Tensor:
    """P(y|s) of all spans of some sentences."""
    windows = SentenceWindows.of(
        model.network, [sentence for text in TEXTS for sentence in model.split(Document(text))]
    )
    found = {}
    for batch in windows.corpus.reading_batches():
        with torch.inference_mode():
            query = Query(model.network, batch, model.datastore)
            said = model.network.predict_proba(query)
        found |= zip(batch.ids.tolist(), said.split(query.candidates.counts.tolist()), strict=True)
    return torch.cat([found[number] for number in range(len(TEXTS))])


def rebuilt(model: Model, documents, removed=()) -> torch.Tensor:
    """The same with a memory built from these documents, less some spans (sentence, first, stop), span by span."""
    edited, found = model.datastore, model.label_documents(documents)
    memory = model.build_datastore(found)
    gone = {}
    for sentence, first, stop in removed:
        gone.setdefault(sentence, []).append((first, stop))
    kept = [replace(one, removed=tuple(gone.get(number, ()))) for number, one in enumerate(memory.sentences)]
    vectors = model.span_vectors(model.encode(found.sentences))
    model.datastore = Datastore.of(kept, model.labels[1:], model.network.suggester, *vectors)
    said, by_loop = probabilities(model), naive(model)
    torch.testing.assert_close(said, by_loop, atol=1e-5, rtol=0)
    model.datastore = edited
    return by_loop


def naive(model: Model) -> torch.Tensor:
    """Equations 1 and 2 in a loop over spans and sentences, or what the head and the nearest spans say."""
    memory, settings, found = model.datastore, model.recipe.head, []
    own = memory.rows(torch.arange(len(memory))).double()
    for text in TEXTS:
        batch = model.encode(model.split(Document(text))).batch(torch.tensor([0]))
        with torch.inference_mode():
            vectors = Query(model.network, batch).vectors
            [mean] = model.network.encoder.sentence_vectors(model.network.encoder(batch))
        near = torch.nn.functional.cosine_similarity(mean[None], memory.sentence_vectors).tolist()
        chosen = sorted(range(len(near)), key=lambda sentence: -near[sentence])
        chosen = chosen[: settings.neighbours] if settings.search == "nearest" else chosen
        rows = [r for r in range(len(memory)) if int(memory.sentence[r]) in chosen and memory.labels[r] >= 0]
        for vector in vectors.double():
            weights = torch.stack([vector @ own[row] for row in rows]).softmax(0)
            sums = torch.zeros(len(model.labels), dtype=torch.double)
            for weight, row in zip(weights, rows, strict=True):
                sums[int(memory.labels[row])] += weight
            found.append(sums.float())
    return torch.stack(found)


@pytest.fixture
def editor(folders, tmp_path: Path, request):
    name, search = getattr(request, "param", ("instance", "nearest"))
    shutil.copytree(folders[name], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    if name == "instance":
        editor.model.set_search(search)
    return editor


KINDS = pytest.mark.parametrize("editor", [("instance", "nearest"), ("instance", "whole")], indirect=True)


@KINDS
def test_an_added_document_counts_as_if_it_had_been_there(editor: Editor, documents):
    before = probabilities(editor.model)
    edit = editor.add(ADDED, weight=1)
    after = probabilities(editor.model)
    assert (edit.number, edit.kind) == (1, "add")
    assert [one.id for one in editor.sentences(document="new")] == [12, 13]
    assert (after - before).abs().max() > 0.01
    torch.testing.assert_close(after, rebuilt(editor.model, [*documents, ADDED]), atol=1e-5, rtol=0)


@KINDS
def test_a_relabelled_span_counts_as_if_it_had_always_been_so(editor: Editor, documents):
    editor.relabel(0, Span.of(0, 3), "PLACE", weight=1)
    editor.relabel(0, Span.of(4, 12), "PERSON", weight=1)
    editor.relabel(1, Span.of(0, 9), "", weight=1)
    after = probabilities(editor.model)
    first = replace(
        documents[0], entities=tuple(Entity.of(*one) for one in ((0, 3, "PLACE"), (4, 12, "PERSON"), (13, 17, "PLACE")))
    )
    second = replace(documents[1], entities=documents[1].entities[1:])
    torch.testing.assert_close(after, rebuilt(editor.model, [first, second, *documents[2:]]), atol=1e-5, rtol=0)


@KINDS
def test_a_removed_span_votes_for_nothing(editor: Editor, documents):
    before = probabilities(editor.model)
    editor.remove(0, Span.of(0, 3))
    editor.remove(0, Span.of(4, 9))
    editor.remove(4, Span.of(0, 5))
    after = probabilities(editor.model)
    assert (after - before).abs().max() > 0.01
    fewer = [
        replace(documents[n], entities=documents[n].entities[1:]) if n in (0, 4) else documents[n] for n in range(12)
    ]
    torch.testing.assert_close(
        after, rebuilt(editor.model, fewer, [(0, 0, 1), (0, 1, 2), (4, 0, 1)]), atol=1e-5, rtol=0
    )


@KINDS
def test_removed_sentences_and_documents_are_gone(editor: Editor, documents):
    editor.remove(0)
    edit = editor.forget("d3")
    after = probabilities(editor.model)
    assert any("Ada met Bob in Paris" in line for line in edit.receipt)
    assert any("weights" in line for line in edit.receipt)
    assert [one.id for one in editor.sentences()] == [1, 2, *range(4, 12)]
    torch.testing.assert_close(
        after, rebuilt(editor.model, [documents[1], documents[2], *documents[4:]]), atol=1e-5, rtol=0
    )


@KINDS
def test_undo_brings_everything_back_exactly(editor: Editor):
    said = [probabilities(editor.model)]
    for edit in (
        lambda: editor.add(ADDED),
        lambda: editor.relabel(12, Span.of(0, 3), "PLACE"),
        lambda: editor.remove(13),
        lambda: editor.remove(0, Span.of(0, 3)),
        lambda: editor.forget("d3"),
    ):
        edit()
        said.append(probabilities(editor.model))
        again = Editor.open(editor.folder, device="cpu").model.set_search(editor.model.recipe.head.search)
        assert torch.equal(probabilities(again), said[-1])
        assert torch.equal(
            probabilities(nearspan.load(editor.folder, "cpu").set_search(again.recipe.head.search)), said[-1]
        )
    while len(said) > 1:
        said.pop()
        editor.undo()
        assert torch.equal(probabilities(editor.model), said[-1])
    with pytest.raises(EditError, match="no edit to undo"):
        editor.undo()


@pytest.fixture(scope="module")
def others(tmp_path_factory, tiny, documents) -> dict[str, Path]:
    """Folders of instance models whose memory is kept otherwise: words with begins of their own, and spans."""
    made = {}
    for name, setting in (("nested", "representation.form=nested"), ("pooling", "representation.kind=pooling")):
        made[name] = tmp_path_factory.mktemp("models") / name
        nearspan.train(tiny("instance", setting), documents, documents, out=made[name], device="cpu")
    return made


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("name", ["nested", "pooling"])
def test_memories_that_are_kept_otherwise_are_edited_alike(others, tmp_path: Path, documents, name: str, search: str):
    shutil.copytree(others[name], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    editor.model.set_search(search)
    before = probabilities(editor.model)
    editor.add(ADDED, weight=1)
    editor.relabel(13, Span.of(0, 6), "PERSON", weight=1)
    editor.remove(0, Span.of(0, 3))
    editor.forget("d11")
    after = probabilities(editor.model)
    assert (after - before).abs().max() > 1e-3
    first = replace(documents[0], entities=documents[0].entities[1:])
    added = replace(ADDED, entities=(ADDED.entities[0], Entity.of(10, 16, "PERSON"), ADDED.entities[2]))
    expected = rebuilt(editor.model, [first, *documents[1:11], added], [(0, 0, 1)])
    torch.testing.assert_close(after, expected, atol=1e-5, rtol=0)
    for _ in range(4):
        editor.undo()
    assert torch.equal(probabilities(editor.model), before)


def test_a_one_word_document_can_be_added(others, tmp_path: Path, documents):
    """Its one begin does not make all begin alike."""
    shutil.copytree(others["nested"], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    editor.add(nearspan.markup("[Oslo](PLACE)"), weight=1)
    after = probabilities(editor.model)
    torch.testing.assert_close(
        after, rebuilt(editor.model, [*documents, nearspan.markup("[Oslo](PLACE)")]), atol=1e-5, rtol=0
    )


def test_an_edit_counts_beside_a_head_with_weights_where_the_memory_has_a_vote(folders, tmp_path: Path):
    shutil.copytree(folders["classifier"], tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    alone = probabilities(editor.model)
    editor.relabel(0, Span.of(0, 3), "PLACE")
    assert torch.equal(probabilities(editor.model), alone)
    editor.model.interpolate(0.9, "neighbours=1")
    assert editor.model.explain_span("Ada lives in Oslo", Span.of(0, 3)).label == "PLACE"
    editor.undo()
    assert editor.model.explain_span("Ada lives in Oslo", Span.of(0, 3)).label == "PERSON"
    editor.model.save(tmp_path / "saved")
    assert nearspan.load(tmp_path / "saved", "cpu").network.interpolation.weight == 0.9
    assert torch.equal(probabilities(editor.model.interpolate(0)), alone)
    assert editor.model.recipe.interpolation is None


def test_the_instance_head_needs_no_vote(editor: Editor):
    with pytest.raises(ConfigError, match="predicts from its memory already"):
        editor.model.interpolate(0.3)


def test_another_process_s_edits_are_taken_up(editor: Editor):
    other = Editor.open(editor.folder, device="cpu")
    assert not other.refresh()
    editor.add(ADDED)
    assert other.refresh()
    assert not other.refresh()
    assert torch.equal(probabilities(other.model), probabilities(editor.model))
    other.relabel(12, Span.of(0, 3), "PLACE")
    assert editor.remove(1).number == 3  # it has taken up the second
    assert [edit.kind for edit in editor.log()] == ["add", "relabel", "remove"]
    assert other.refresh()
    editor.undo()
    editor.undo()
    other.refresh()
    assert other.sentences() == editor.sentences()
    assert torch.equal(probabilities(other.model), probabilities(editor.model))


def test_a_memory_that_is_built_anew_is_taken_up(editor: Editor, documents):
    other = Editor.open(editor.folder, device="cpu")
    editor.add(ADDED)
    other.refresh()
    assert editor.build(documents[:5]).sentences == 5
    assert other.refresh()
    assert len(other.sentences()) == len(editor.sentences()) == 5
    assert other.log() == editor.log() == []
    assert torch.equal(probabilities(other.model), probabilities(editor.model))
    assert other.add(ADDED).number == 1
    assert [one.id for one in other.sentences(document="new")] == [5, 6]


def test_a_memory_that_only_its_owner_may_read_stays_so(editor: Editor, documents):
    files = [editor.folder / name for name in ("memory.jsonl", "memory.safetensors")]
    for file in files:
        file.chmod(0o600)
    journal = editor.folder / "journal.jsonl"
    for edit in (lambda: editor.build(documents[:5]), lambda: editor.add(ADDED), lambda: editor.build(documents)):
        edit()
        assert {file.stat().st_mode & 0o777 for file in (*files, journal)} == {0o600}


def test_a_memory_that_is_protected_can_be_edited_more_than_once(editor: Editor):
    (editor.folder / "memory.jsonl").chmod(0o444)
    editor.add(ADDED)
    assert (editor.folder / "journal.jsonl").stat().st_mode & 0o777 == 0o644
    editor.undo()


def test_building_from_what_is_there_leaves_no_trace_of_what_is_not(editor: Editor):
    editor.forget("d3")
    editor.remove(0, Span.of(0, 3))
    said = probabilities(editor.model)
    editor.build()
    assert torch.equal(probabilities(editor.model), said)
    assert torch.equal(probabilities(nearspan.load(editor.folder, "cpu")), said)
    assert [one.id for one in editor.sentences()] == list(range(11))
    for path in editor.folder.glob("*.jsonl"):
        assert "Ada met Bob in Paris" not in path.read_text()
    with pytest.raises(EditError, match="no edit to undo"):
        editor.undo()


def test_the_same_memory_built_again_has_no_edits(editor: Editor, documents):
    said = probabilities(editor.model)
    editor.remove(0)
    editor.build(documents)
    assert editor.log() == nearspan.memory.Editor.open(editor.folder, "cpu").log() == []
    torch.testing.assert_close(probabilities(editor.model), said, atol=1e-6, rtol=0)


def test_an_edited_model_is_saved_with_a_memory_that_needs_no_journal(editor: Editor, tmp_path: Path):
    editor.add(ADDED)
    editor.remove(0)
    editor.remove(1, Span.of(0, 9))
    said = probabilities(editor.model)
    editor.model.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "journal.jsonl").read_bytes()
    assert torch.equal(probabilities(nearspan.load(tmp_path / "saved", "cpu")), said)
    editor.model.save(editor.folder)  # over its own folder
    assert torch.equal(probabilities(nearspan.load(editor.folder, "cpu")), said)
    assert editor.refresh()
    assert editor.log() == []


def test_where_all_neighbours_are_removed_a_span_is_no_entity(editor: Editor):
    for one in editor.sentences():
        for start in range(len(one.text)):
            for end in range(start + 1, len(one.text) + 1):
                if one.id < 11 and editor.holds(one.id, Span.of(start, end)) and end - start < 4:
                    editor.remove(one.id, Span.of(start, end))
    found = probabilities(editor.model)
    assert found.isfinite().all()
    torch.testing.assert_close(found, naive(editor.model), atol=1e-5, rtol=0)


def test_a_relabelled_span_is_summed_up_with_what_it_was_and_is(editor: Editor):
    edits = [editor.relabel(0, Span.of(0, 3), label, weight=1) for label in ("PLACE", "", "PERSON")]
    assert [edit.summary for edit in edits] == [
        "relabel 'Ada' in sentence 0 from PERSON to PLACE",
        "relabel 'Ada' in sentence 0 from PLACE to no entity",
        "relabel 'Ada' in sentence 0 from no entity to PERSON",
    ]


def test_copies_of_a_sentence_have_its_very_letters_and_words(editor: Editor):
    words = ((0, 3), (4, 9), (10, 17))
    editor.add(Document("Ada lives in Oslo", (), "other words", words))
    assert [view.document for view in editor.copies("Ada lives in Oslo")] == ["d0"]
    assert editor.copies("ada lives in oslo") == []


def test_the_last_sentence_stays(editor: Editor):
    for number in range(11):
        editor.remove(number)
    with pytest.raises(EditError, match="leave the memory empty"):
        editor.remove(11)
    assert len(editor.sentences()) == 1
    assert probabilities(editor.model).isfinite().all()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda editor: editor.add(Document("", id="x")), "no words"),
        (lambda editor: editor.add(Document("Ada \ud800")), "lone surrogate"),
        (lambda editor: editor.add(Document("Ada", (Entity.of(0, 3, "A\ud800"),))), "lone surrogate"),
        (lambda editor: editor.relabel(0, Span.of(0, 2), "PLACE"), "not a run of whole words"),
        (lambda editor: editor.relabel(0, Span.of(0, 3), "PERSON"), "is PERSON already"),
        (lambda editor: editor.relabel(0, Span.of(4, 9), ""), "is no entity already"),
        (lambda editor: editor.relabel(99, Span.of(0, 3), "PLACE"), "no sentence 99"),
        (lambda editor: editor.remove(-1), "no sentence -1"),
        (lambda editor: editor.forget(""), "holds nothing from ''"),
        (lambda editor: editor.forget("d99"), "did you mean"),
        (lambda editor: editor.build([]), "no words"),
    ],
)
def test_what_cannot_be_edited_is_a_clear_error_and_changes_nothing(editor: Editor, edit, message):
    before = probabilities(editor.model)
    with pytest.raises(EditError, match=message):
        edit(editor)
    assert torch.equal(probabilities(editor.model), before)
    assert editor.log() == Editor.open(editor.folder, "cpu").log() == []


def test_entities_out_of_reach_are_on_the_receipt(editor: Editor):
    edit = editor.add(nearspan.markup("[Ada of the House of the Moons of Oslo](PERSON) left"))
    assert any("wider than 6 words" in line for line in edit.receipt)


@pytest.mark.parametrize("name", ["classifier", "instance"])
def test_a_model_without_a_memory_can_be_given_one(folders, tmp_path: Path, documents, name: str):
    shutil.copytree(folders[name], tmp_path / "model")
    clear_memory(tmp_path / "model")
    editor = Editor.open(tmp_path / "model", device="cpu")
    with pytest.raises(EditError, match="has no memory"):
        editor.remove(0)
    editor.build(documents)
    assert len(editor.sentences()) == 12
    assert editor.model.explain("Ada lives in Oslo")


def test_a_build_that_finds_no_room_changes_nothing(editor: Editor, documents, full_disk):
    editor.add(ADDED)
    before = probabilities(editor.model)
    with full_disk(300), pytest.raises(EditError, match="cannot"):
        editor.build(documents[:5])
    assert torch.equal(probabilities(editor.model), before)
    assert torch.equal(probabilities(nearspan.load(editor.folder, "cpu")), before)
    assert editor.build(documents[:5]).sentences == 5


def test_an_edit_that_is_meant_is_undone_only_while_it_is_the_last(editor: Editor):
    mine = editor.add(ADDED)
    editor.remove(0)
    with pytest.raises(EditError, match="is not the last that stands"):
        editor.undo(mine.number)
    editor.undo()
    assert editor.undo(mine.number).change["undoes"] == mine.number


def test_where_fragments_are_not_joined_none_is_edited(editor: Editor):
    with pytest.raises(EditError, match="this model links no fragments"):
        editor.relabel(0, Span(((0, 3), (13, 17))), "PLACE")


def test_an_edit_counts_beside_a_head_over_words_where_the_memory_has_a_vote(tiny, documents, tmp_path: Path):
    settings = ("head.kind=crf", "fragment_linker=none", "training.epochs=25", "training.learning_rate=0.02")
    nearspan.train(tiny("classifier", *settings), documents, documents, out=tmp_path / "model", device="cpu")
    editor = Editor.open(tmp_path / "model", device="cpu")

    def found(text: str) -> list[tuple[str, str]]:
        (annotated,) = editor.model.pipe([text])
        return [(entity.label, entity.span.text(text)) for entity in annotated.entities]

    before = found("Ada lives in Oslo")
    assert ("PERSON", "Ada") in before
    editor.relabel(0, Span.of(0, 3), "PLACE")
    assert found("Ada lives in Oslo") == before
    editor.model.interpolate(0.9, "neighbours=1")
    assert ("PLACE", "Ada") in found("Ada lives in Oslo")
    editor.undo()
    assert found("Ada lives in Oslo") == before
