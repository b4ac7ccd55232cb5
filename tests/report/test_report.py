import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import nearspan
from nearspan.colours import LabelColours, stylesheet
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError, ModelError, ResourceError
from nearspan.evaluation import find_errors
from nearspan.explain.render import label_text
from nearspan.model import Model
from nearspan.report import Report, report
from nearspan.report.explained_errors import ExplainedError, SpanEvidence
from nearspan.report.rendering import explain_page
from nearspan.report.results import Results
from nearspan.report.scored_model import ScoredModel


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return made.page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def numbers(made: Report) -> dict:
    return json.loads(made.numbers.read_text())


def test_the_page_has_what_people_read_and_no_figure_of_a_paper(page: str):
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections == ["scores", "trust", "confusion", "errors", "slices", "coverage", "model"]
    assert page.count("<svg") == page.count('<svg class="reliability') == 2
    assert "et al." not in page


def test_the_page_names_the_models_and_the_corpus(page: str):
    title = "instance against classifier on &lt;odd&gt;.jsonl"
    assert f"<title>{title} · nearspan</title>" in page
    assert f"<h1>{title}</h1>" in page


def test_a_corpus_that_was_read_has_the_name_of_its_file(tmp_path: Path, instance: Model, documents: list[Document]):
    nearspan.write(documents[:2], tmp_path / "few.jsonl")
    made = report(instance, nearspan.read(tmp_path / "few.jsonl"), out=tmp_path / "report")
    assert made.results.title == "instance on few.jsonl"


def test_the_page_is_well_formed_and_loads_nothing(page: str, parse_page: Callable):
    seen = parse_page(page)
    assert seen.links == ["papers.html"]
    assert len(seen.scripts) == 1


def test_texts_are_escaped(page: str):
    for raw, escaped in (("<x>", "&lt;x&gt;"), ("A&B", "A&amp;B"), ("<L>", "&lt;L&gt;")):
        assert raw not in page
        assert escaped in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_text_that_is_no_unicode_can_be_shown(tmp_path: Path, instance: Model):
    odd = Document("Ada \ud800 left", (Entity.of(4, 5, "PERSON"),), id="\udfff")
    assert "Ada ?" in re.sub("<[^>]*>", "", report(instance, [odd], out=tmp_path).page.read_text(encoding="utf-8"))


def test_the_numbers_are_those_of_evaluate(numbers: dict, folders: dict[str, Path], corpus: list[Document]):
    assert [scored["name"] for scored in numbers["models"]] == ["instance", "classifier"]
    for model in numbers["models"]:
        expected = nearspan.evaluate(nearspan.load(folders[model["name"]], device="cpu"), corpus)
        assert {key: model[key] for key in expected.to_dict()} == json.loads(json.dumps(expected.to_dict()))
        assert sum(model["errors"].values()) == len(find_errors(corpus, expected.predicted))


def test_every_error_is_listed_and_each_in_reach_has_its_evidence(numbers: dict, page: str):
    errors = numbers["errors"]
    assert len(errors) == sum(numbers["models"][0]["errors"].values()) == page.count('<details class="card" data-kind')
    assert all(error["evidence"] for error in errors if error["kind"] != "out of reach")
    assert {entity["strength"] for error in errors for entity in error["evidence"]} == {"exact"}


def test_the_confusion_matrix_counts_every_gold_entity_once(numbers: dict, corpus: list[Document]):
    gold = [entity.label for document in corpus for entity in document.entities]
    for model in numbers["models"]:
        cells, boundary = model["confusion"]["cells"], model["confusion"]["wrong_boundary"]
        for label in set(gold):
            row = sum(cell["count"] for cell in cells if cell["gold"] == label)
            assert row + boundary.get(label, 0) == gold.count(label)
        correct = sum(cell["count"] for cell in cells if cell["gold"] == cell["predicted"])
        assert correct == round(model["recall"] * len(gold))


def test_thousands_of_errors_make_a_page_that_can_be_opened(instance: Model, documents: list[Document]):
    text = "word " * 40 + "Oslo" + " word" * 40
    document = Document(text, id="long")
    nearest = instance.explain_span(documents[0], documents[0].entities[0].span, 5)
    evidence = [SpanEvidence.of(nearest)] * 2
    error = ExplainedError("spurious", document, None, Entity.of(200, 204, "PLACE", 0.5), evidence)
    scored = ScoredModel.of("instance", instance, documents)
    results = Results.of([scored], documents, "")
    many = Results("", "", [scored], results.confusions, [{"spurious": 3000}], [error] * 3000)
    page = many.page()
    assert page.count('data-kind="spurious"') == 3000
    assert len(page) < 12_000_000


def test_a_classifier_alone(tmp_path: Path, folders: dict[str, Path], corpus: list[Document], parse_page: Callable):
    made = report(folders["classifier"], corpus, out=tmp_path, device="cpu")
    text = made.page.read_text(encoding="utf-8")
    assert "look-alikes by cosine" in text
    assert parse_page(text).links == []
    assert made.papers is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_a_model_without_a_memory_has_scores_and_errors(tmp_path: Path, classifier: Model, corpus: list[Document]):
    classifier.datastore = None
    made = report(classifier, corpus, out=tmp_path)
    assert "no memory, so there is no evidence" in made.page.read_text(encoding="utf-8")
    assert made.results.errors
    assert not any(error.evidence for error in made.results.errors)


def test_a_perfect_model_and_a_corpus_without_entities(
    tmp_path: Path, instance: Model, documents: list[Document], parse_page: Callable
):
    perfect = report(instance, documents, out=tmp_path / "perfect")
    assert instance is perfect.results.models[0].model
    assert "No errors." in perfect.page.read_text(encoding="utf-8")
    empty = report(instance, [Document("Rain."), Document("")], out=tmp_path / "empty")
    text = empty.page.read_text(encoding="utf-8")
    assert "No entities, neither gold nor predicted" in text
    parse_page(text)


@pytest.mark.parametrize(
    "markup", ["[Ada](PERSON)", "[University of [Oslo](PLACE)](ORG)"], ids=["one entity and nothing else", "nested"]
)
def test_a_corpus_with_little_in_it(tmp_path: Path, classifier: Model, markup: str, parse_page: Callable):
    made = report(classifier, [nearspan.markup(markup)], out=tmp_path)
    text = made.page.read_text(encoding="utf-8")
    parse_page(text)
    assert ("so all are flat" in text) is ("[Oslo]" not in markup)
    assert "NaN" not in made.numbers.read_text()


def test_models_of_one_recipe_get_names_that_differ(tmp_path: Path, instance: Model, documents: list[Document]):
    made = report(instance, documents[:4], out=tmp_path, compare=instance)
    assert [scored.name for scored in made.results.models] == ["instance 1", "instance 2"]


def test_what_cannot_be_reported_is_refused(tmp_path: Path, instance: Model):
    some = [Document("Ada")]
    with pytest.raises(ConfigError, match="no documents"):
        report(instance, [], out=tmp_path)
    with pytest.raises(
        ConfigError, match="`train`, `dev`: for the curves of the papers, which come with `papers`: add it"
    ):
        report(instance, some, out=tmp_path, train=some, dev=some)
    with pytest.raises(ConfigError, match="both `train` and `dev`"):
        report(instance, some, out=tmp_path, papers=True, train=some)
    with pytest.raises(ConfigError, match="give `sizes` or `occurrences`"):
        report(instance, some, out=tmp_path, papers=True, train=some, dev=some, sizes=())
    with pytest.raises(ModelError):
        report(tmp_path / "nowhere", some, out=tmp_path)


def test_the_page_needs_no_package_that_draws(
    tmp_path: Path, instance: Model, documents: list[Document], monkeypatch: pytest.MonkeyPatch
):
    for package in ("matplotlib", "sklearn", "sacrebleu"):
        monkeypatch.setitem(sys.modules, package, None)
    assert report(instance, documents, out=tmp_path).page.is_file()
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[viz\]'"):
        report(instance, documents, out=tmp_path, papers=True)


def test_rows_by_width_and_structure_are_in_order(made: Report, page: str):
    slices = page[page.index('<section id="slices">') : page.index('<section id="coverage">')]
    rows = re.findall(r"<tr><td>([^<]+)</td>", slices)
    widths, structures = [row for row in rows if row[0].isdigit()], [row for row in rows if not row[0].isdigit()]
    assert widths == sorted({width for scored in made.results.models for width in scored.widths}, key=int)
    assert [name for name in ("flat", "nested", "covering", "both") if name in structures] == structures


def test_errors_are_paged_and_none_is_cut(page: str, made: Report):
    assert '<form class="pager" data-list="errors" data-size="25" hidden>' in page
    errors = page[page.index('data-items="errors"') :]
    assert errors.count("<details") - 1 == len(made.results.errors) > 25  # the last one holds the settings


def test_a_label_has_one_colour_in_report_audit_evidence_and_terminal(
    page: str, instance: Model, corpus: list[Document]
):
    colours = LabelColours(instance.labels)
    audited = nearspan.audit(instance, corpus).page(instance.labels[1:])
    evidence = instance.explain("Ada saw Oslo", 3)
    explained = explain_page("Ada saw Oslo", evidence, instance.labels[1:])
    assert evidence
    for label in instance.labels[1:]:
        expected = [(colours[label].name, colours[label].sign)]
        for html in (page, audited, explained):
            chips = re.findall(rf'<span class="chip (\S+)"><i>(.)</i>{re.escape(label)}</span>', html)
            assert not chips or list(dict.fromkeys(chips)) == expected
        assert re.findall(rf'<span class="chip (\S+)"><i>(.)</i>{re.escape(label)}</span>', page)
        assert label_text(label, colours).style == colours[label].terminal
    for html in (page, audited, explained):
        assert stylesheet() in html
