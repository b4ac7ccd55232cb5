"""Weights: a sentence counts as so many copies, and as many as it takes for it to be read right."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import nearspan
from nearspan.document import Document, Span
from nearspan.errors import EditError
from nearspan.heads import Query
from nearspan.knn import assemble_datastore
from nearspan.memory.editor import Editor
from nearspan.memory.reweight import OWN_LIMIT, Outcome, Target, reweight
from nearspan.model import Model
from nearspan.model.predict import SentenceWindows
from nearspan.segment.windows import LONGEST
from nearspan.spans import AllSpans

TEXTS = ("Ada lives in Oslo", "Bob Stone met Eve Moon in New York", "Zed and Ada like unseen Paris", "Lima")
ADDED = nearspan.markup("[Zed](PERSON) left [Lima](PLACE) in March", id="new")
WRONG = {
    "[Ada](PERSON) lives in [Oslo](PERSON)": [("Ada", "PERSON"), ("Oslo", "PERSON")],
    "Ada lives in [Oslo](PLACE)": [("Oslo", "PLACE")],
    "[Ada](PLACE) lives in Oslo": [("Ada", "PLACE")],
}


def probabilities(model: Model) -> torch.Tensor:
    windows = SentenceWindows.of(
        model.network, [sentence for text in TEXTS for sentence in model.split(Document(text))]
    )
    found = []
    for number in range(len(TEXTS)):
        with torch.inference_mode():
            query = Query(model.network, windows.corpus.batch(torch.tensor([number])), model.datastore)
            said = model.network.predict_proba(query)
        found.append(said)
    return torch.cat(found)


def said(model: Model, text: str) -> list[tuple[str, str]]:
    (found,) = model.pipe([text])
    return [(entity.span.text(text), entity.label) for entity in found.entities]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory, tiny, documents, folders) -> dict[str, Path]:
    """Models whose memory is kept by words, by words with begins of their own, and by spans; and one that votes."""
    settings = {"words": "lstm_minus", "own": "lstm_minus", "spans": "pooling"}
    made = {"vote": folders["classifier"]}
    for name, kind in settings.items():
        made[name] = tmp_path_factory.mktemp("models") / name
        more = ["representation.form=nested"] if name == "own" else []
        learnt = ["training.epochs=30", "training.learning_rate=0.01"]  # it reads its own sentences right
        recipe = tiny("instance", f"representation.kind={kind}", "head.neighbours=100", *learnt, *more)
        nearspan.train(recipe, documents, documents, out=made[name], device="cpu")
    return made


@pytest.fixture
def open_editor(kinds, tmp_path: Path):
    def opened(kind: str, search: str = "nearest") -> Editor:
        editor = Editor.open(shutil.copytree(kinds[kind], tmp_path / f"model-{kind}-{search}"), "cpu")
        if kind == "vote":
            editor.model.interpolate(0.6, "neighbours=1000")
        else:
            editor.model.set_search(search)
        return editor

    return opened


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("kind", ["words", "own", "spans", "vote"])
def test_a_weight_is_so_many_copies(open_editor, kind: str, search: str):
    editor = open_editor(kind, search)
    before = probabilities(editor.model)
    editor.add(ADDED, weight=5)
    weighed = probabilities(editor.model)
    assert (weighed - before).abs().max() > 1e-3
    editor.undo()
    assert torch.equal(probabilities(editor.model), before)
    for _ in range(5):
        editor.add(ADDED, weight=1)
    torch.testing.assert_close(weighed, probabilities(editor.model), atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["words", "own", "spans"])
def test_exact_evidence_adds_up_with_weights(open_editor, kind: str):
    editor = open_editor(kind)
    editor.add(ADDED, weight=30)
    found = editor.model.explain_span("Zed left Lima in March", Span.of(0, 3), k=1_000)
    for label, group in found.neighbours.items():
        assert sum(one.weight for one in group) == pytest.approx(found.probabilities[label], abs=1e-5)
    assert found.counter_evidence is not None
    mine = sorted((one.weight for one in found.neighbours[found.label]), reverse=True)
    others = max(share for label, share in found.probabilities.items() if label != found.label)
    size = found.counter_evidence.size
    assert sum(mine[size:]) <= others + 1e-6
    assert sum(mine[size - 1 :]) >= others - 1e-6


@pytest.mark.parametrize("kind", ["words", "own", "spans"])
def test_evidence_counts_a_weight_as_predictions_do(open_editor, kind: str):
    model = open_editor(kind).model
    model.memory.add(ADDED)
    document = model(ADDED.text)
    assert document.entities
    for entity, evidence in zip(document.entities, model.explain(document), strict=True):
        assert evidence.probabilities[entity.label] == pytest.approx(entity.score, abs=1e-5)


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("kind", ["words", "own", "spans"])
def test_a_misread_sentence_speaks_for_its_corrected_words_alone(open_editor, kind: str, search: str):
    editor = open_editor(kind, search)
    before = probabilities(editor.model)
    editor.add(nearspan.markup("[Rome](PERSON) met [Rome](PERSON) in [Lima](PLACE)", id="wrong"))
    [one] = editor.sentences(document="wrong")
    assert one.weight == 0
    assert {span.text(one.text) for span, *_ in one.carried} <= {"Rome"}
    assert said(editor.model, one.text) == [("Rome", "PERSON"), ("Rome", "PERSON"), ("Lima", "PLACE")]
    after = probabilities(editor.model)
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)
    assert search == "whole" or torch.equal(after, before)
    evidence = editor.model.explain_span(one.text, Span.of(0, 4), k=1_000)
    for label, group in evidence.neighbours.items():
        assert sum(each.weight for each in group) == pytest.approx(evidence.probabilities[label], abs=1e-5)
    loaded = Model.load(editor.folder, "cpu")
    loaded.set_search(search)
    torch.testing.assert_close(probabilities(loaded), after)
    editor.build()
    assert [each.weight for each in editor.sentences(document="wrong")] == [0]
    assert said(editor.model, one.text)[0] == ("Rome", "PERSON")


def test_a_sentence_that_is_read_right_stays_among_the_others_and_so_does_one_with_a_new_label(open_editor):
    editor = open_editor("words")
    editor.add(nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE)", id="right"))
    editor.add(nearspan.markup("[Aspirin](DRUG) helps Ada", id="new"))
    editor.relabel(0, Span.of(0, 3), "PLACE")
    views = [editor.sentences(document=name)[0] for name in ("right", "new", "d0")]
    assert [view.weight for view in views] == [1, 1, 1]
    assert [bool(view.carried) for view in views] == [False, True, True]


def test_a_correction_that_is_corrected_again_stays_aside_until_it_is_read_right(open_editor):
    editor = open_editor("words")
    before = probabilities(editor.model)
    editor.add(nearspan.markup("[Ada](PERSON) lives in [Rome](PERSON)", id="wrong"))
    [one] = editor.sentences(document="wrong")
    editor.relabel(one.id, Span.of(0, 3), "PLACE")
    assert said(editor.model, one.text) == [("Ada", "PLACE"), ("Rome", "PERSON")]
    assert editor.sentence(one.id).weight == 0
    editor.relabel(one.id, Span.of(0, 3), "PERSON")
    editor.relabel(one.id, Span.of(13, 17), "PLACE")
    assert (editor.sentence(one.id).weight, editor.sentence(one.id).carried) == (1, ())
    for _ in range(4):
        editor.undo()
    assert torch.equal(probabilities(editor.model), before)


def test_a_weight_is_kept_on_disk(open_editor, tmp_path: Path):
    editor = open_editor("words")
    editor.add(ADDED, weight=2.5)
    expected = probabilities(editor.model)
    assert [one.weight for one in editor.sentences(document="new")] == [2.5]
    assert editor.log()[-1].summary.endswith("weight 2.5")
    torch.testing.assert_close(probabilities(Model.load(editor.folder, "cpu")), expected)
    editor.build()
    torch.testing.assert_close(probabilities(Model.load(editor.folder, "cpu")), expected)
    lines = (editor.folder / "memory.jsonl").read_text().splitlines()
    assert [line for line in lines if "weight" in line] == lines[-1:]


def test_entities_may_count_more_than_the_spans_around_them(open_editor):
    editor = open_editor("words")
    editor.add(ADDED, weight=1, entity_weight=6)
    expected = probabilities(editor.model)
    assert [one.entity_weight for one in editor.sentences(document="new")] == [6]
    assert editor.log()[-1].summary.endswith("its entities count 6 times")
    torch.testing.assert_close(probabilities(Model.load(editor.folder, "cpu")), expected)
    with pytest.raises(EditError, match="give `weight` too"):
        editor.add(ADDED, entity_weight=6)
    with pytest.raises(EditError, match="a weight is a number above 0"):
        editor.add(ADDED, weight=1, entity_weight=0)


def test_a_relabelled_span_may_change_the_weight_of_its_sentence(open_editor):
    editor = open_editor("words")
    before = probabilities(editor.model)
    editor.relabel([0, 3], Span.of(0, 3), "PLACE", weight=4)
    assert [editor.sentence(number).weight for number in (0, 3)] == [4, 4]
    assert editor.relabel(0, Span.of(0, 3), "PLACE", weight=1).kind == "relabel"
    with pytest.raises(EditError, match="is PLACE already"):
        editor.relabel(0, Span.of(0, 3), "PLACE", weight=1)
    editor.relabel([0, 3], Span.of(0, 3), "PERSON", weight=1)
    assert torch.equal(probabilities(editor.model), before)


def test_what_is_labelled_so_already_is_relabelled_only_where_the_model_misreads_it(open_editor):
    editor = open_editor("words")
    for _ in range(30):
        editor.add(nearspan.markup("[Ada](PLACE) lives in [Oslo](PLACE)", id="many"), weight=1)
    assert said(editor.model, "Ada lives in Oslo") == [("Ada", "PLACE"), ("Oslo", "PLACE")]
    edit = editor.relabel(0, Span.of(0, 3), "PERSON")
    assert "from PERSON to PERSON" in edit.summary
    assert said(editor.model, "Ada lives in Oslo") == [("Ada", "PERSON"), ("Oslo", "PLACE")]
    with pytest.raises(EditError, match="is PERSON already"):
        editor.relabel(0, Span.of(0, 3), "PERSON")


@pytest.mark.parametrize("search", ["nearest", "whole"])
@pytest.mark.parametrize("kind", ["words", "own", "spans"])
def test_enough_is_the_least_with_which_the_sentence_is_read_so(open_editor, kind: str, search: str):
    editor = open_editor(kind, search)
    for text, wanted in WRONG.items():
        edit = editor.add(nearspan.markup(text, id="wrong"))
        [one] = editor.sentences(document="wrong")
        assert said(editor.model, one.text) == wanted
        assert (one.weight, one.span_weights) == (0, ())
        assert all(like <= own <= OWN_LIMIT for _, own, like in one.carried)
        assert one.carried
        assert edit.summary.endswith("which is enough")
        editor.undo()


def test_a_correction_carries_over_to_the_same_words_and_can_be_undone_and_reloaded(open_editor):
    editor, text = open_editor("words"), "Zoe saw Oslo again"
    before = probabilities(editor.model)
    [evidence] = [editor.model.explain_span(text, Span.of(8, 12))]
    editor.add(nearspan.markup("[Ada](PERSON) lives in [Oslo](PERSON)", id="wrong"))
    [one] = editor.sentences(document="wrong")
    assert [span.text(one.text) for span, *_ in one.carried] == ["Oslo"]
    after = editor.model.explain_span(text, Span.of(8, 12), k=1_000)
    assert after.probabilities["PERSON"] >= evidence.probabilities["PERSON"]
    for label, group in after.neighbours.items():
        assert sum(each.weight for each in group) == pytest.approx(after.probabilities[label], abs=1e-5)
    corrected = probabilities(editor.model)
    torch.testing.assert_close(probabilities(Model.load(editor.folder, "cpu")), corrected)
    editor.undo()
    assert torch.equal(probabilities(editor.model), before)


def test_a_preview_changes_nothing(open_editor):
    editor = open_editor("words")
    before = probabilities(editor.model)
    preview = editor.preview(lambda memory: memory.add("[Ada](PERSON) lives in [Oslo](PERSON)"))
    assert (preview.sentences > 0, editor.log(), len(editor)) == (True, [], 12)
    given = editor.preview(lambda memory: memory.remove(0), [nearspan.markup("[Ada](PERSON) left [Oslo](PLACE)")])
    assert given.sentences == 1
    assert torch.equal(probabilities(editor.model), before)


def test_a_span_that_counts_enough_wins_for_itself_whatever_else_is_remembered(open_editor):
    """P(y|s) of a span whose own weight grows tends to 1, also where its vector is like those of many others."""
    editor = open_editor("words")
    text = "Zoe lives in Oslo"
    editor.add(nearspan.markup("Zoe [lives](PERSON) in [Oslo](PLACE)", id="odd"), weight=1)
    memory, found = editor.model.datastore, []
    for times in (1.0, 1e3, 1e6, 1e12):
        kept = dict(zip(memory.ids, memory.sentences, strict=True))
        kept[max(kept)] = replace(memory.sentences[-1], span_weights=((1, 2, times),))
        editor.model.datastore = assemble_datastore([memory], kept, editor.model.labels[1:], AllSpans(6))
        found.append(editor.model.explain_span(text, Span.of(4, 9)).probabilities["PERSON"])
    assert found == sorted(found)
    assert found[-1] > 0.999


def test_relabelling_may_count_as_often_as_it_takes(open_editor):
    editor = open_editor("words")
    for _ in range(2):
        editor.add(nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE)", id="same"))
    ids = [one.id for one in editor.sentences(text="Ada lives in Oslo")]
    assert len(ids) == 3
    edit = editor.relabel(ids, Span.of(13, 17), "PERSON")
    assert edit.summary.startswith("relabel 'Oslo' in sentences 0, 12, 13 from PLACE to PERSON")
    assert said(editor.model, "Ada lives in Oslo") == [("Ada", "PERSON"), ("Oslo", "PERSON")]
    assert len({one.span_weights for one in editor.sentences(text="Ada lives in Oslo")}) == 1


def test_what_is_read_right_already_counts_once(open_editor):
    editor = open_editor("words")
    right = nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE)", id="again")
    assert said(editor.model, right.text) == [("Ada", "PERSON"), ("Oslo", "PLACE")]
    editor.add(right)
    assert editor.log()[-1].summary.endswith("counting once is enough")


def test_where_no_weight_is_enough_the_sentence_counts_once_and_it_is_said(open_editor):
    editor = open_editor("words")
    crossing = nearspan.markup("Ada lives in Oslo", id="x").with_entities(
        [nearspan.Entity.of(0, 9, "PLACE"), nearspan.Entity.of(4, 12, "PERSON")]  # a flat model cannot say so
    )
    edit = editor.add(crossing)
    assert edit.summary.endswith("for 1 sentence no weight is enough, so it counts once")
    assert "sentence 12 is still misread" in edit.receipt[-1]
    assert "of those that overlap it keeps the likeliest" in edit.receipt[-1]
    assert [(one.weight, one.span_weights) for one in editor.sentences(document="x")] == [(1, ())]


def test_the_same_words_twice_in_a_sentence_are_told_apart_by_their_place(open_editor):
    editor = open_editor("words")
    editor.add(nearspan.markup("[Ada](PERSON) met Ada", id="x"))
    assert said(editor.model, "Ada met Ada") == [("Ada", "PERSON")]


def test_only_the_sentences_that_are_misread_count_more(open_editor):
    editor = open_editor("words")
    text = "[Ada](PERSON) lives in [Oslo](PLACE). [Ada](PLACE) met [Bob](PERSON) in Paris."
    editor.add(nearspan.markup(text, id="two"))
    assert said(editor.model, "Ada met Bob in Paris.") == [("Ada", "PLACE"), ("Bob", "PERSON")]
    assert said(editor.model, "Ada lives in Oslo.") == [("Ada", "PERSON"), ("Oslo", "PLACE")]
    assert editor.sentences(document="two")[1].carried


def test_a_sentence_that_was_right_before_another_counted_more_is_looked_at_again(open_editor):
    """They read the same, so what puts the one right puts the other wrong: no weights are enough for both."""
    editor = open_editor("words")
    edit = editor.add(nearspan.markup("[Ada](PERSON) met Bob. [Ada](PLACE) met Bob.", id="both"))
    assert "no weight is" in edit.summary
    assert any("is still misread" in line for line in edit.receipt)


@pytest.mark.parametrize("kind", ["words", "spans", "vote"])
def test_a_correction_counts_among_any_number_of_copies(open_editor, kind: str):
    """More sentences, or spans, are equally near than are asked."""
    editor = open_editor(kind)
    if kind == "vote":
        editor.model.interpolate(0.9, "neighbours=16")
    for _ in range(6):
        editor.add(nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE). " * 20, id="copies"), weight=1)
    editor.add(nearspan.markup("[Ada](PERSON) lives in [Oslo](PERSON).", id="wrong"))
    assert said(editor.model, "Ada lives in Oslo.") == [("Ada", "PERSON"), ("Oslo", "PERSON")]


def test_sentences_that_do_not_read_the_same_are_not_relabelled_together(open_editor):
    editor, text = open_editor("words"), "Ada lives in Oslo"
    editor.add(Document(text, (), "other", ((0, 3), (4, 12), (13, 17)), ((0, 17),)), weight=1)
    assert [one.id for one in editor.copies(text)] == [0]
    for ids in ([0, 12], [12, 0], [0, 3]):
        with pytest.raises(EditError, match="do not read the same"):
            editor.relabel(ids, Span.of(0, 3), "PLACE")


@pytest.mark.parametrize("kind", ["words", "spans"])
def test_a_removed_span_need_not_be_read_as_anything(open_editor, kind: str):
    editor = open_editor(kind)
    editor.remove(0, Span.of(0, 3))
    assert ("Ada", "PERSON") in said(editor.model, "Ada lives in Oslo")
    edit = editor.relabel(0, Span.of(13, 17), "PERSON")
    assert edit.summary.endswith("which is enough")
    assert ("Oslo", "PERSON") in said(editor.model, "Ada lives in Oslo")
    assert Span.of(0, 3) not in [span for span, _ in editor.sentence(0).span_weights]


def test_entities_too_wide_for_the_memory_are_not_looked_at(tiny, documents, tmp_path: Path):
    """A head over words finds them, but nothing votes on them."""
    nearspan.train(tiny("hire", "encoder.sentence_context.size=3"), documents, out=tmp_path / "model", device="cpu")
    editor = Editor.open(tmp_path / "model", "cpu")
    editor.model.interpolate(0.9)
    wide = "A" + " b" * editor.model.network.max_width
    edit = editor.add(nearspan.markup(f"[{wide}](PLACE) met [Bob](PERSON)", id="wide"))
    assert (edit.summary.endswith("is enough"), len(edit.receipt)) == (True, 1)
    assert said(editor.model, f"{wide} met Bob")[-1] == ("Bob", "PERSON")
    before = editor.sentences(document="wide")[0].span_weights
    edit = editor.relabel(12, Span.of(0, len(wide)), "PERSON")
    assert "the memory holds no spans wider than suggester.max_width" in edit.summary
    assert editor.sentences(document="wide")[0].span_weights == before


def test_an_entity_as_wide_as_the_widest_span_is_looked_at(open_editor):
    editor = open_editor("words")
    wide = "lives in" + " the" * (editor.model.network.max_width - 2)
    editor.add(nearspan.markup(f"Ada [{wide}](PLACE) rain", id="wide"))
    assert (wide, "PLACE") in said(editor.model, f"Ada {wide} rain")


def test_a_head_that_decides_alone_is_not_asked(open_editor):
    editor = open_editor("vote")
    editor.model.interpolate(0)
    before = probabilities(editor.model)
    assert "predicts without its memory" in editor.add(ADDED).summary
    assert editor.sentences(document="new")[0].span_weights == ()
    editor.relabel(0, Span.of(0, 3), "PLACE", weight=3)
    edit = editor.relabel(0, Span.of(0, 3), "PERSON")
    assert "predicts without its memory" in edit.summary
    assert editor.sentence(0).weight == 3
    assert torch.equal(probabilities(editor.model), before)


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan")])
def test_a_weight_is_above_zero(open_editor, weight: float):
    editor = open_editor("words")
    with pytest.raises(EditError, match="above 0"):
        editor.add(ADDED, weight=weight)
    with pytest.raises(EditError, match="above 0"):
        editor.relabel(0, Span.of(0, 3), "PLACE", weight)
    assert editor.log() == []


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), "much", None])
def test_what_is_no_weight_is_an_error_that_says_so(open_editor, weight):
    with pytest.raises(EditError, match="a weight is a number above 0, or 'enough'"):
        open_editor("words").add(ADDED, weight)


@pytest.mark.parametrize("words", [[], [LONGEST + 1], [5, LONGEST + 1]])
def test_sentences_that_would_be_read_in_other_parts_are_given_up(words: list[int]):
    target = Target([SimpleNamespace(words=range(count)) for count in words], [], [[0]])
    assert reweight(None, None, target) == [Outcome(failure="it would be read in other parts than it is remembered in")]
