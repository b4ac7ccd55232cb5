"""`nearspan.audit`: planted errors are found, and no sentence speaks for itself."""

import json

import pytest
import torch
from torch.nn import functional

import nearspan
from nearspan.errors import ModelError, NearspanError
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.model import Model

WRONG = {
    "d0": "[Ada](PLACE) lives in [Oslo](PLACE)",  # another label
    "d4": "Paris is far from [Oslo](PLACE)",  # dropped
    "d9": "[Bob](PERSON) [and](PLACE) [Eve](PERSON) like [New York](PLACE)",  # no entity
    "d11": "[Ada](PERSON) Moon likes [Paris](PLACE)",  # half of the entity
}


@pytest.fixture
def noisy(documents):
    return [
        nearspan.markup(WRONG[document.id], id=document.id) if document.id in WRONG else document
        for document in documents
    ]


def with_memory(model: Model, documents) -> Model:
    """The model with these documents in its memory, errors included."""
    labelled = model.label_documents(documents)
    model.build_datastore(labelled)
    return model


@pytest.fixture(params=["instance", "classifier"])
def model(request, noisy) -> Model:
    return with_memory(request.getfixturevalue(request.param), noisy)


def summary(issue):
    """An issue in a few words."""
    sides = [
        (entity.span.text(issue.document.text), entity.label) if entity else None
        for entity in (issue.annotated, issue.suggested)
    ]
    return issue.document.id, issue.kind, *sides


def test_planted_errors_are_found(model, noisy):
    listed = [summary(issue) for issue in nearspan.audit(model, noisy).issues]
    assert ("d0", "wrong label", ("Ada", "PLACE"), ("Ada", "PERSON")) in listed
    assert ("d4", "missing", None, ("Paris", "PLACE")) in listed
    assert ("d9", "no entity", ("and", "PLACE"), None) in listed


def test_a_boundary_is_one_issue_and_not_two(classifier, noisy):
    audit = [
        issue for issue in nearspan.audit(with_memory(classifier, noisy), noisy).issues if issue.document.id == "d11"
    ]
    assert [summary(issue) for issue in audit] == [("d11", "wrong boundary", ("Ada", "PERSON"), ("Ada Moon", "PERSON"))]


def test_a_wrong_boundary_is_as_grave_as_its_two_sides_on_average(classifier, noisy):
    model = with_memory(classifier, noisy)
    [boundary] = [issue for issue in nearspan.audit(model, noisy).issues if issue.kind == "wrong boundary"]
    [missing] = [
        issue
        for issue in nearspan.audit(model, [boundary.document.with_entities([])]).issues
        if issue.suggested.span == boundary.suggested.span
    ]
    no_entity = 1 - boundary.probabilities["PERSON"]
    assert abs(no_entity - missing.severity) > 1e-3
    assert boundary.severity == pytest.approx((no_entity + missing.severity) / 2)


def test_the_gravest_come_first_and_the_list_can_be_cut(model, noisy):
    whole = nearspan.audit(model, noisy)
    assert [issue.severity for issue in whole.issues] == sorted(
        (issue.severity for issue in whole.issues), reverse=True
    )
    cut = nearspan.audit(model, noisy, most=2)
    assert [summary(issue) for issue in cut.issues] == [summary(issue) for issue in whole.issues[:2]]
    assert cut.total == whole.total == len(whole.issues)


def test_the_evidence_has_the_labels_in_question_and_is_never_the_sentence_itself(model, noisy):
    for issue in nearspan.audit(model, noisy, count=2).issues:
        label = issue.suggested.label if issue.suggested and issue.kind != "wrong boundary" else ""
        assert {near.label for near in issue.against} <= {label}
        assert {near.label for near in issue.support} <= {issue.annotated.label if issue.annotated else ""}
        assert issue.document.text not in {near.sentence for near in (*issue.against, *issue.support)}
        assert len(issue.against) <= 2


def test_shares_of_the_instance_head_add_up(instance, noisy):
    for issue in nearspan.audit(with_memory(instance, noisy), noisy, count=1000).issues:
        if issue.suggested and issue.kind != "wrong boundary":
            share = sum(near.weight for near in issue.against)
            assert share == pytest.approx(issue.probabilities[issue.suggested.label], abs=1e-4)


def test_a_sentence_and_its_copies_do_not_speak_for_themselves(instance, documents):
    """However often a wrong sentence is in the memory, it is contradicted by the others."""
    wrong = [nearspan.markup(WRONG["d0"], id=f"copy{number}") for number in range(5)]
    model = with_memory(instance.set_search("whole"), [*documents[1:], *wrong])
    (annotated,) = model.pipe([wrong[0].text])
    assert annotated.entities[0].label == "PLACE"  # with its copies in the memory the model believes the error
    audit = [issue for issue in nearspan.audit(model, wrong[:1]).issues if issue.kind == "wrong label"]
    assert [summary(issue) for issue in audit] == [("copy0", "wrong label", ("Ada", "PLACE"), ("Ada", "PERSON"))]


def test_a_sentence_is_compared_by_the_vector_that_the_memory_has_of_it(instance, documents, monkeypatch):
    """The first look asks the nearest sentences, found as everywhere else."""
    model, asked = with_memory(instance, documents), []
    nearest = LeaveOneOut.nearest_sentences

    def note(self, vectors, group, count):
        asked.extend(zip(group.tolist(), functional.normalize(vectors, dim=1), strict=True))
        return nearest(self, vectors, group, count)

    monkeypatch.setattr(LeaveOneOut, "nearest_sentences", note)
    nearspan.audit(model, documents)
    groups = LeaveOneOut.of(model.datastore).duplicate_group.tolist()
    assert sorted(groups) == sorted(number for number, _ in asked)
    for number, vector in asked:
        torch.testing.assert_close(vector, model.datastore.sentence_vectors[groups.index(number)])


def test_labels_that_the_model_does_not_know_are_counted_not_judged(instance, documents):
    strange = nearspan.markup("[Ada](RIVER) lives in [Oslo](PLACE)")
    audit = nearspan.audit(instance, [strange])
    assert "1 with a label unknown to the model" in str(audit.coverage)
    assert not [issue for issue in audit.issues if issue.entity.start == 0]


def test_nothing_inside_an_annotation_out_of_reach_is_missing(classifier, noisy):
    """The words of a wide or a discontinuous annotation are taken, though nothing is asked about it."""
    model = with_memory(classifier, noisy)
    wide = nearspan.markup("[Ada lives in Oslo and likes Paris too](PLACE) with [Bob](PERSON#1) and [Stone](PERSON#1)")
    model.linked_overlap = "flat"
    bare = wide.with_entities([])
    assert {summary(issue)[1] for issue in nearspan.audit(model, [bare]).issues} == {"missing"}
    audit = nearspan.audit(model, [wide])
    assert [summary(issue) for issue in audit.issues] == []
    assert str(audit.coverage) == "2 entities in 1 sentence; 2 unreachable (1 discontinuous, 1 wider than 6 words)"


def test_where_words_are_tagged_wide_annotations_are_counted_as_not_asked_about(tiny, documents, tmp_path):
    model = nearspan.train(
        tiny("hire", "encoder.sentence_context.size=3"), documents, out=tmp_path / "run", device="cpu"
    ).model
    wide = nearspan.markup("[Ada lives in [Oslo](PLACE) and likes Paris too](PLACE) with [Bob](PERSON)")
    audit = nearspan.audit(model, [wide])
    reasons = "1 no single span that is asked about, 1 overlapping a wider entity"
    assert str(audit.coverage) == f"3 entities in 1 sentence; 2 unreachable ({reasons})"
    assert not [issue for issue in audit.issues if issue.kind == "missing" and issue.entity.start < 38]


def test_several_labels_and_nested_entities(tiny, tmp_path):
    texts = [
        f"[The [{place}](PLACE,TOWN) Club](ORG) met in [{other}](PLACE,TOWN)"
        for place, other in (("Oslo", "Rome"), ("Rome", "Lima"), ("Lima", "Bonn"), ("Bonn", "Oslo"), ("Rome", "Bonn"))
    ]
    documents = [double(text, f"d{number}") for number, text in enumerate(texts)]
    recipe = tiny("classifier", "head.kind=sigmoid", "training.epochs=40", "training.learning_rate=0.02")
    model = nearspan.train(recipe, documents, out=tmp_path / "run", device="cpu").model
    half = documents[0].with_entities(e for e in documents[0].entities if (e.start, e.label) != (4, "TOWN"))
    audit = [summary(issue) for issue in nearspan.audit(model, [half]).issues]
    assert ("d0", "missing", None, ("Oslo", "TOWN")) in audit  # beside PLACE on its span, inside an ORG


def double(text: str, id: str):
    """Markup in which a span may have two labels, as in `[Oslo](PLACE,TOWN)`."""
    document = nearspan.markup(text, id=id)
    entities = [
        nearspan.Entity(entity.span, label) for entity in document.entities for label in entity.label.split(",")
    ]
    return document.with_entities(entities)


def test_without_a_memory_or_with_one_sentence_it_says_what_to_do(instance, documents):
    instance.datastore = None
    with pytest.raises(ModelError, match=r"no memory .* `nearspan memory MODEL build CORPUS`"):
        nearspan.audit(instance, documents)
    with_memory(instance, [documents[0], documents[0]])
    with pytest.raises(ModelError, match="single sentence"):
        nearspan.audit(instance, documents)


def test_an_empty_corpus_is_refused(instance):
    for documents in ([], [nearspan.Document("")]):
        with pytest.raises(NearspanError, match="no words"):
            nearspan.audit(instance, documents)


def test_the_list_as_json_lines(model, noisy, tmp_path):
    audit = nearspan.audit(model, noisy)
    audit.write(tmp_path / "issues.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "issues.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(audit.issues)
    first = next(line for line in lines if line["document"] == "d0")
    assert first["annotated"] == {"label": "PLACE", "text": "Ada", "fragments": [[0, 3]]}
    assert first["suggested"]["label"] == "PERSON"
    assert first["against"][0]["sentence"] != "Ada lives in Oslo"


def test_the_page_shows_markup_as_text(instance, noisy):
    odd = nearspan.Document("<b>Ada</b> lives in Rome", id="<script>")
    page = nearspan.audit(with_memory(instance, noisy), [odd, *noisy]).page(instance.labels[1:], "<b>.jsonl")
    assert page.count("<script") == 1  # ours
    assert "label issues in &lt;b&gt;.jsonl" in page
    assert "<b>Ada" not in page
    assert "wrong label" in page
