"""Discontinuous entities in whole systems: learned, saved, found in long texts, scored, asked why, written."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.errors import EditError, NearspanError
from nearspan.evaluation import evaluate
from nearspan.memory.editor import Editor
from nearspan.model import Model
from nearspan.model.predict import Predictor
from nearspan.report.explained_errors import reachable_entities
from nearspan.report.report import report
from nearspan.segment import LabelledSpan
from nearspan.segment.windows import split_windows
from nearspan.training import TrainingCallback
from nearspan.training.data import TrainingData

SENTENCES = (
    "[[pain in](SYMPTOM#1) arms](SYMPTOM) and [legs](SYMPTOM#1)",
    "[[pain in](SYMPTOM#1) feet](SYMPTOM) and [arms](SYMPTOM#1)",
    "[[ache in](SYMPTOM#1) legs](SYMPTOM) and [feet](SYMPTOM#1)",
    "[[ache in](SYMPTOM#1) knees](SYMPTOM) and [arms](SYMPTOM#1)",
    "some [pain in arms](SYMPTOM) only",
    "the [drug](DRUG) gave [ache in legs](SYMPTOM) again",
    "no legs and arms here",
    "[muscle](SYMPTOM#1) was , I say , [sore](SYMPTOM#1) and [weak](SYMPTOM#1)",
    "the [drug](DRUG) is good",
)
TINY = ("training.epochs=60", "training.learning_rate=0.02", "fragment_linker.size=16", "fragment_linker.dropout=0")


@pytest.fixture(scope="module")
def broken() -> list[Document]:
    return [nearspan.markup(text, id=f"d{number}") for number, text in enumerate(SENTENCES)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny, broken) -> dict[str, Path]:
    made = {}
    for name in ("instance", "classifier"):
        made[name] = tmp_path_factory.mktemp("broken") / name
        nearspan.train(tiny(name, *TINY), broken, out=made[name], device="cpu")
    return made


@pytest.fixture(params=["instance", "classifier"])
def model(request, folders) -> Model:
    return nearspan.load(folders[request.param], device="cpu")


def test_what_was_learned_is_found_after_loading(model: Model, broken):
    evaluation = evaluate(model, broken)
    assert evaluation.scores.f1 == 1.0
    assert evaluation.coverage.reachable == evaluation.coverage.entities
    assert evaluation.discontinuous["entities"].f1 == evaluation.discontinuous["sentences"].f1 == 1.0
    assert evaluation.discontinuous["entities"].total.gold == 5
    assert evaluation.discontinuous["sentences"].total.gold == 9
    assert [len(entity.span.fragments) for entity in evaluation.predicted[7].entities] == [3]
    assert (model.overlap, model.linked_overlap) == ("flat", "any")


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_a_contiguous_corpus_builds_nothing(tiny, documents, tmp_path: Path, name: str):
    recipe = tiny(name)
    assert recipe.fragment_linker is not None
    run = nearspan.train(recipe, documents, out=tmp_path / "with", device="cpu")
    assert run.model.network.fragment_linker is None
    config = tomllib.loads((tmp_path / "with" / "config.toml").read_text(encoding="utf-8"))
    assert set(config["model"]) == {"nearspan", "overlap", "weights", "files", "versions"}
    nearspan.train(recipe.override(["fragment_linker=none"]), documents, out=tmp_path / "without", device="cpu")
    weights = [(tmp_path / out / "model.safetensors").read_bytes() for out in ("with", "without")]
    assert weights[0] == weights[1]


def test_without_joining_they_are_out_of_reach(tiny, broken, tmp_path: Path):
    run = nearspan.train(tiny("classifier", "fragment_linker=none"), broken, broken, out=tmp_path / "out", device="cpu")
    assert run.dev.coverage.unreachable == {"discontinuous": 5}
    again = nearspan.load(tmp_path / "out", device="cpu")
    assert again.recipe.fragment_linker is None
    assert again.network.fragment_linker is None


def test_a_label_that_was_contiguous_in_training_is_out_of_reach(model: Model):
    evaluation = evaluate(
        model, [nearspan.markup("the [drug](DRUG#1) and [pill](DRUG#1) , [one](NEW#1) more [thing](NEW#1)")]
    )
    assert evaluation.coverage.unreachable == {
        "discontinuous, of a label that was not so in training": 1,
        "with a label unknown to the model": 1,
    }


def test_windows_of_a_long_sentence_give_each_entity_once(model: Model, monkeypatch):
    """In each window every third word is joined with the one after the next."""
    [view] = model.split(Document(" ".join(["so"] * 2500)))
    list(model.pipe([view.document]))  # read for real, too

    def predict_spans(predictor, corpus):
        spans = []
        for part in split_windows(view, model.network.max_width):
            count, begin = len(part.sentence), -part.start % 3
            spans.append([LabelledSpan(((at, at + 1), (at + 2, at + 3)), 1, 0.5) for at in range(begin, count - 2, 3)])
        return spans

    monkeypatch.setattr(Predictor, "predict_spans", predict_spans)
    [document] = model.pipe([view.document])
    assert [entity.span.fragments for entity in document.entities] == [
        (view.words[at], view.words[at + 2]) for at in range(0, 2498, 3)
    ]


def test_training_data_in_windows_and_fragments_too_far_apart():
    text = " ".join(f"w{number}" for number in range(1500))

    def at(number: int) -> tuple[int, int]:
        start = text.index(f"w{number} ")
        return start, start + len(f"w{number}")

    near, far = Entity(Span((at(950), at(952))), "A"), Entity(Span((at(3), at(1300))), "A")
    touching = Entity(Span((at(20), at(21))), "A")
    recipe = nearspan.recipe("classifier")
    data = TrainingData.of([Document(text, (near, far, touching))], recipe, recipe.splitter())
    assert [[gold.fragments for gold in entities_of_sentence] for entities_of_sentence in data.entities] == [
        [((950, 951), (952, 953))],
        [((50, 51), (52, 53))],
    ]
    assert data.coverage.unreachable == {"of fragments too far apart": 1, "of fragments that touch": 1}
    assert data.labels == ["A"]


def test_evidence_is_training_entities_with_fragments_alike(model: Model, broken):
    text = broken[0].text
    legs = Span(((0, 7), (17, 21)))
    evidence = model.explain_span(text, legs, 2)
    assert evidence.strength == "nearest"
    assert (evidence.text, evidence.label) == ("pain in legs", "SYMPTOM")
    assert evidence.probabilities["SYMPTOM"] > 0.5
    assert evidence.probabilities[""] == pytest.approx(1 - evidence.probabilities["SYMPTOM"])
    near = evidence.neighbours["SYMPTOM"]
    assert near[0].text == "pain in legs"
    assert near[0].weight == pytest.approx(1, abs=1e-2)
    assert all(neighbour.span.discontinuous for neighbour in near)
    assert [neighbour.weight for neighbour in near] == sorted((neighbour.weight for neighbour in near), reverse=True)
    entity = next(explained for explained in model.explain(text) if explained.span == legs)
    assert entity.label == "SYMPTOM"
    json.dumps(entity.to_dict())


def test_fragments_that_are_no_entity_are_explained_too(model: Model, broken):
    evidence = model.explain_span(broken[6].text, Span(((3, 7), (12, 16))), 2)
    assert evidence.label == ""
    assert evidence.neighbours


def test_an_old_span_that_cannot_be_asked_about(model: Model, tiny, documents, tmp_path: Path):
    with pytest.raises(NearspanError, match="not made of runs of whole words"):
        model.explain_span("pain in arms and legs", Span(((0, 6), (17, 21))))
    run = nearspan.train(tiny("classifier"), documents, out=tmp_path / "flat", device="cpu")
    with pytest.raises(NearspanError, match="links no fragments"):
        run.model.explain_span("Ada met Bob", Span(((0, 3), (8, 11))))


def test_annotating_to_brat_reads_back_equal(nearspan_command, folders, broken, tmp_path: Path):
    for document in broken:
        (tmp_path / f"{document.id}.txt").write_text(document.text, encoding="utf-8")
    files = [tmp_path / f"{document.id}.txt" for document in broken]
    out = tmp_path / "brat"
    ran = nearspan_command("annotate", folders["classifier"], *files, "--to", "brat", "--out", out, "--device", "cpu")
    assert ran.code == 0, ran.err
    read = {document.text: document.entities for document in nearspan.read(out).documents}
    assert read == {document.text: document.entities for document in broken}


def test_the_commands_show_them(nearspan_command, folders, broken, tmp_path: Path):
    nearspan.write(broken, tmp_path / "gold.jsonl")
    ran = nearspan_command("evaluate", folders["classifier"], tmp_path / "gold.jsonl", "--device", "cpu")
    assert "discontinuous" in ran.out
    ran = nearspan_command("evaluate", folders["classifier"], tmp_path / "gold.jsonl", "--json", "--device", "cpu")
    assert json.loads(ran.out)["discontinuous"]["entities"]["f1"] == 1.0
    text = broken[0].text
    ran = nearspan_command("explain", folders["classifier"], text, "--span", "pain in ... legs", "--json")
    assert json.loads(ran.out)["evidence"][0]["fragments"] == [[0, 7], [17, 21]]
    ran = nearspan_command("explain", folders["classifier"], text)
    assert "pain in legs" in ran.out
    assert nearspan_command("explain", folders["classifier"], text, "--span", "legs ... pain").code == 2


def test_a_missed_entity_that_can_be_joined_is_not_out_of_reach(model: Model, broken):
    for document in broken:
        assert reachable_entities(model, document) == set(document.entities)
    wide = nearspan.markup("[a b c d e f g](SYMPTOM#1) h [i](SYMPTOM#1) ; [j](DRUG#1) k [l](DRUG#1)")
    assert reachable_entities(model, wide) == set()


def test_the_report_scores_them_apart(folders, broken, tmp_path: Path):
    made = report(folders["classifier"], broken, out=tmp_path / "report", device="cpu")
    assert "<h3>Discontinuous entities</h3>" in made.page.read_text(encoding="utf-8")
    [numbers] = json.loads(made.numbers.read_text(encoding="utf-8"))["models"]
    assert numbers["discontinuous"]["entities"]["gold"] == 5


class Stop(TrainingCallback):
    """Stops the run in an epoch, as Ctrl-C does."""

    def on_epoch_end(self, progress, dev) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt


def test_a_run_is_resumed(tiny, broken, tmp_path: Path):
    recipe = tiny("classifier", "training.epochs=4", "training.checkpoint_minutes=0")
    nearspan.train(recipe, broken, broken, out=tmp_path / "whole", device="cpu")
    with pytest.raises(KeyboardInterrupt):
        nearspan.train(recipe, broken, broken, out=tmp_path / "cut", device="cpu", callbacks=[Stop(logging_steps=1)])
    nearspan.train(recipe, broken, broken, out=tmp_path / "cut", device="cpu", resume=True)
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()


@pytest.fixture
def editor(folders, tmp_path: Path) -> Editor:
    return Editor.open(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")


def remembered_entities(editor: Editor, sentence: int) -> list[tuple[str, str]]:
    remembered_entities = editor.sentence(sentence)
    return [
        (entity.span.text(remembered_entities.text), entity.label)
        for entity in remembered_entities.entities
        if entity.span.discontinuous
    ]


def test_in_the_memory_they_are_relabelled_and_removed_as_evidence(editor: Editor):
    text, legs = "pain in arms and legs", Span(((0, 7), (17, 21)))
    before = list(editor.model.pipe([text]))
    edit = editor.relabel(0, legs, "DRUG")
    assert edit.summary == (
        "relabel 'pain in legs' in sentence 0 from SYMPTOM to DRUG: "
        "fragments are linked without the memory, so predictions stay as they are"
    )
    assert editor.model.explain_span(text, legs, 1).neighbours["DRUG"][0].span == legs
    assert remembered_entities(editor, 0) == [("pain in legs", "DRUG")]
    editor.remove(0, legs)
    assert remembered_entities(editor, 0) == []
    assert "DRUG" not in editor.model.explain_span(text, legs, 9).neighbours
    assert list(editor.model.pipe([text])) == before
    with pytest.raises(EditError, match="no entity of sentence 0, so there is nothing to remove"):
        editor.remove(0, legs)
    editor.relabel(0, legs, "SYMPTOM")
    assert Editor.open(editor.folder, "cpu").sentence(0) == editor.sentence(0)
    for _ in range(3):
        editor.undo()
    assert remembered_entities(editor, 0) == [("pain in legs", "SYMPTOM")]
    with pytest.raises(EditError, match="is SYMPTOM already"):
        editor.relabel(0, legs, "SYMPTOM")
    with pytest.raises(EditError, match="whatever the sentence's weight"):
        editor.relabel(0, legs, "DRUG", weight=2)
    with pytest.raises(EditError, match="no word lies between"):
        editor.relabel(0, Span(((0, 4), (5, 7))), "DRUG")


def test_commands_part_their_fragments_with_dots(nearspan_command, editor: Editor):
    memory = ("memory", editor.folder)
    place = ("--sentence", "0", "--span", "pain in ... legs")
    assert "from SYMPTOM to DRUG" in nearspan_command(*memory, "relabel", *place, "--label", "DRUG").out
    assert "remove 'pain in legs'" in nearspan_command(*memory, "remove", *place).out
    new = ("--sentence", "6", "--span", "legs ... arms", "--label", "SYMPTOM")
    assert "from no entity to SYMPTOM" in nearspan_command(*memory, "relabel", *new).out
    editor.refresh()
    assert (remembered_entities(editor, 0), remembered_entities(editor, 6)) == ([], [("legs arms", "SYMPTOM")])
    assert "does not stand" in nearspan_command(*memory, "remove", "--sentence", "0", "--span", "legs ... pain").err
