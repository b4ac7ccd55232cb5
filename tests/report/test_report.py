import json
import re
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document
from nearspan.errors import ConfigError, ModelError
from nearspan.evaluation import find_errors
from nearspan.model import Model
from nearspan.report import Report, report

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Collects attributes that load something, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]
        self.loads += [value for key, value in attrs if key in ("src", "href", "xlink:href") and value[0] != "#"]
        self.ids += [value for key, value in attrs if key == "id"]
        assert tag not in ("script", "link", "img", "iframe", "x")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return made.page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def numbers(made: Report) -> dict:
    return json.loads(made.numbers.read_text())


def test_the_page_has_each_section(page: str):
    found = re.findall(r'<section id="(\w+)"', page)
    assert found == [
        "scores",
        "model",
        "coverage",
        "slices",
        "errors",
        "retrieval",
        "vectors",
        "space",
        "loss",
        "outputs",
    ]
    pictures = ["widths", "structures", "space0", "space1", "components0", "components1", "loss"]
    pictures += ["outputs0", "outputs1", "violins0", "violins1", "discrepancy0", "discrepancy1"]
    assert re.findall(r'<svg [^>]*aria-label="(\w+)"', page) == pictures


def test_generators_and_bottlenecks_have_sections_of_their_own(telling, documents, folders, tmp_path: Path):
    made = report(telling, documents, out=tmp_path, compare=folders["classifier"], device="cpu")
    page, numbers = made.page.read_text(encoding="utf-8"), json.loads(made.numbers.read_text())
    found = re.findall(r'<section id="(\w+)"', page)
    assert found[-4:] == ["posteriors", "generation", "loss", "outputs"]
    pictures = re.findall(r'<svg [^>]*aria-label="(posteriors\w+)"', page)
    assert pictures == ["posteriors0input", "posteriors0z1", "posteriors0z3", "posteriors1input"]
    told, none = (one["generation"] for one in numbers["models"])
    assert none is None
    assert told["bleu2"] > 0.5
    assert told["ceiling"] == pytest.approx(1)
    assert len(told["examples"]) == told["entities"] == sum(len(document.entities) for document in documents)
    assert "<td>the capital of norway</td>" in page
    (own, other), spans = numbers["projection"]["posteriors"].values(), numbers["projection"]["spans"]
    assert {key: len(points) for key, points in own.items()} == dict.fromkeys(("input", "z1", "z3"), len(spans))
    assert other == {"input": list(numbers["projection"]["points"].values())[1]}
    seen = Page(page)
    assert not seen.open
    assert len(seen.ids) == len(set(seen.ids))


def test_false_positives_are_counted_by_what_is_wrong(numbers: dict, page: str):
    for one in numbers["models"]:
        found, total = one["false_positives"], one["false_positives"]["category"] + one["false_positives"]["span"]
        assert total == found["predicted"] - round(one["precision"] * found["predicted"])
    assert "span errors" in page


def test_the_page_is_well_formed_and_loads_nothing(page: str):
    seen = Page(page)
    assert not seen.open
    assert not seen.loads
    assert len(seen.ids) == len(set(seen.ids))
    assert not re.search(r"url\((?!#)|@import|https?://", page)


def test_texts_are_escaped(page: str):
    for raw, escaped in (("<x>", "&lt;x&gt;"), ("A&B", "A&amp;B"), ("<L>", "&lt;L&gt;")):
        assert raw not in page
        assert escaped in page
    assert "<script" not in page


def test_the_numbers_are_those_of_evaluate(numbers: dict, folders: dict[str, Path], corpus: list[Document]):
    assert [one["name"] for one in numbers["models"]] == ["instance", "classifier"]
    for one in numbers["models"]:
        expected = nearspan.evaluate(nearspan.load(folders[one["name"]], device="cpu"), corpus)
        assert {key: one[key] for key in expected.to_dict()} == json.loads(json.dumps(expected.to_dict()))
        assert sum(one["errors"].values()) == len(find_errors(corpus, expected.predicted))


def test_every_error_shown_in_reach_has_its_evidence(numbers: dict):
    assert 0 < len(numbers["failures"]) <= 30
    assert all(failure["evidence"] for failure in numbers["failures"])
    assert {one["strength"] for failure in numbers["failures"] for one in failure["evidence"]} == {"exact"}


def test_each_query_has_five_neighbours_of_each_model(numbers: dict):
    assert numbers["retrieval"]
    for query in numbers["retrieval"]:
        assert {name: len(found) for name, found in query["neighbours"].items()} == {"instance": 5, "classifier": 5}


def test_the_projection_has_a_point_for_each_span(numbers: dict):
    found = numbers["projection"]
    assert len(found["spans"]) == len(found["points"]["instance"]) == len(found["points"]["classifier"])
    for own in found["components"].values():
        assert len(own["points"]) == len(found["spans"])
        assert 1 >= own["explained"][0] >= own["explained"][1] > 0


def test_the_models_are_compared_over_the_same_pairs(numbers: dict, page: str):
    one, other = numbers["models"]
    for level, cosine in one["coupling"].items():
        assert cosine["pairs"] == other["coupling"][level]["pairs"] > 0
        assert f"<td class=number>{cosine['mean']:.3f}</td>" in page
    for key in ("within", "between", "against"):
        assert one["geometry"][key]["pairs"] == other["geometry"][key]["pairs"] > 0
        assert f"<td class=number>{other['geometry'][key]['mean']:.3f}</td>" in page
    assert one["geometry"]["spans"] == len(numbers["projection"]["spans"])


def test_heads_without_templates_say_so(numbers: dict, page: str):
    assert [one["geometry"]["templates"] is None for one in numbers["models"]] == [True, False]
    assert "No templates in instance" in page
    assert f"{numbers['models'][1]['geometry']['templates']['norm']:.3f}" in page


def test_a_classifier_alone_with_a_curve(
    tmp_path: Path, folders: dict[str, Path], documents: list[Document], corpus: list[Document]
):
    model = nearspan.load(folders["classifier"], device="cpu")
    model.recipe = model.recipe.override(["training.epochs=1"])
    halves = (Fraction(1), Fraction(1, 2))
    made = report(model, corpus, out=tmp_path, train=documents, dev=documents, sizes=halves, device="cpu")
    text = made.page.read_text(encoding="utf-8")
    assert '<section id="curve">' in text
    assert "Look-alikes by cosine" in text
    assert [point["share"] for point in json.loads(made.numbers.read_text())["curve"]] == [1.0, 0.5]
    assert not Page(text).open


def test_a_perfect_model_and_a_corpus_without_entities(tmp_path: Path, instance: Model, documents: list[Document]):
    perfect = report(instance, documents, out=tmp_path / "perfect")
    assert instance is perfect.findings.subjects[0].model
    empty = report(instance, [Document("Rain."), Document("")], out=tmp_path / "empty")
    text = empty.page.read_text(encoding="utf-8")
    assert "nothing to draw" in text
    assert "No entities, neither gold nor predicted" in text
    assert not Page(text).open
    assert json.loads(empty.numbers.read_text())["models"][0]["geometry"]["norm"] is None


@pytest.mark.parametrize(
    ("markup", "pictures"),
    [
        ("[Ada](PERSON)", 1),  # one entity and nothing else
        ("[Ada](PERSON), [Bob](PERSON), [Eve](PERSON), [Bob Stone](PERSON) and [Eve Moon](PERSON) left", 6),
        ("[University of [Oslo](PLACE)](ORG)", 2),
    ],
    ids=["single", "one label, flat", "nested"],
)
def test_a_corpus_with_little_in_it(tmp_path: Path, classifier: Model, markup: str, pictures: int):
    made = report(classifier, [nearspan.markup(markup)], out=tmp_path)
    text = made.page.read_text(encoding="utf-8")
    assert not Page(text).open
    # widths; structures where entities nest; two of the space and three of the probabilities if there are five
    assert text.count("<svg") == pictures
    assert ("so all are flat" in text) is ("[Oslo]" not in markup)
    assert "NaN" not in made.numbers.read_text()


def test_models_of_different_widths_are_compared_up_to_the_smaller(
    tmp_path: Path, instance: Model, classifier: Model, corpus: list[Document]
):
    classifier.network.max_width = 3
    made = report(instance, corpus, out=tmp_path, compare=classifier)
    one, other = (space.coupling for space in made.findings.spaces)
    assert [cosine.pairs for cosine in one.values()] == [cosine.pairs for cosine in other.values()]


def test_models_of_one_recipe_get_names_that_differ(tmp_path: Path, instance: Model, documents: list[Document]):
    made = report(instance, documents[:4], out=tmp_path, compare=instance)
    assert [subject.name for subject in made.findings.subjects] == ["instance 1", "instance 2"]


def test_what_cannot_be_reported_is_refused(tmp_path: Path, tiny: Callable[..., Recipe], instance: Model):
    with pytest.raises(ConfigError, match="no documents"):
        report(instance, [], out=tmp_path)
    with pytest.raises(ConfigError, match="--train and --dev"):
        report(instance, [Document("Ada")], out=tmp_path, train=[Document("Ada")])
    with pytest.raises(ConfigError, match="give --sizes or --occurrences"):
        report(instance, [Document("Ada")], out=tmp_path, train=[Document("Ada")], dev=[Document("Ada")], sizes=())
    with pytest.raises(ModelError):
        report(tmp_path / "nowhere", [Document("Ada")], out=tmp_path)


def test_rows_by_width_and_structure_are_in_order(made: Report, page: str):
    slices = page[page.index('<section id="slices">') : page.index('<section id="errors">')]
    rows = re.findall(r"<tr><td>([^<]+)</td>", slices)
    widths, structures = [row for row in rows if row[0].isdigit()], [row for row in rows if not row[0].isdigit()]
    assert widths == sorted({width for subject in made.findings.subjects for width in subject.widths}, key=int)
    assert [name for name in ("flat", "nested", "covering", "both") if name in structures] == structures
