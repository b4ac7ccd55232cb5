import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import nearspan
from nearspan.document import Document
from nearspan.model import Model
from nearspan.report import Report, report
from nearspan.report.papers import PaperResults, papers_page
from nearspan.report.papers.label_probabilities import LabelProbabilities


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return (made.page.parent / "papers.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def numbers(made: Report) -> dict:
    return json.loads((made.page.parent / "papers.json").read_text())


def test_the_page_has_each_section(page: str):
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections == ["slices", "positives", "retrieval", "vectors", "space", "loss", "outputs"]
    assert re.findall(r'<a href="#(\w+)"', page) == sections
    pictures = ["widths", "structures", "space0", "space1", "components0", "components1", "loss"]
    pictures += ["outputs0", "outputs1", "violins0", "violins1", "discrepancy0", "discrepancy1"]
    assert re.findall(r'<svg [^>]*aria-label="(\w+)"', page) == pictures


def test_the_page_is_well_formed_escaped_and_loads_nothing(page: str, parse_page: Callable):
    seen = parse_page(page)
    assert seen.links == ["report.html"]
    assert not seen.scripts
    for raw, escaped in (("<x>", "&lt;x&gt;"), ("A&B", "A&amp;B"), ("<L>", "&lt;L&gt;")):
        assert raw not in page
        assert escaped in page


def test_figures_have_the_colours_of_the_labels(page: str):
    space = page[page.index('aria-label="space0"') : page.index('aria-label="space1"')]
    assert "var(--c0)" in space
    assert "var(--c1)" in space


def test_generators_and_bottlenecks_have_sections_of_their_own(
    generating, documents, folders, tmp_path: Path, parse_page: Callable
):
    report(generating, documents, out=tmp_path, compare=folders["classifier"], papers=True, device="cpu")
    page = (tmp_path / "papers.html").read_text(encoding="utf-8")
    numbers = json.loads((tmp_path / "papers.json").read_text())
    sections = re.findall(r'<section id="(\w+)"', page)
    assert sections[-4:] == ["posteriors", "generation", "loss", "outputs"]
    pictures = re.findall(r'<svg [^>]*aria-label="(posteriors\w+)"', page)
    assert pictures == ["posteriors0input", "posteriors0z1", "posteriors0z3", "posteriors1input"]
    generation, none = (model["generation"] for model in numbers["models"])
    assert none is None
    assert generation["bleu2"] > 0.5
    assert generation["ceiling"] == pytest.approx(1)
    entities = sum(len(document.entities) for document in documents)
    assert len(generation["examples"]) == generation["entities"] == entities
    assert "<td>the capital of norway</td>" in page
    (first, other), spans = numbers["projection"]["posteriors"].values(), numbers["projection"]["spans"]
    assert {key: len(points) for key, points in first.items()} == dict.fromkeys(("input", "z1", "z3"), len(spans))
    assert other == {"input": list(numbers["projection"]["points"].values())[1]}
    parse_page(page)


def test_false_positives_are_counted_by_what_is_wrong(made: Report, numbers: dict, page: str):
    for model, scored in zip(numbers["models"], made.results.models, strict=True):
        positives, total = (
            model["false_positives"],
            model["false_positives"]["category"] + model["false_positives"]["span"],
        )
        assert total == positives["predicted"] - round(scored.evaluation.scores.precision * positives["predicted"])
    assert "span errors" in page


def test_each_query_has_five_neighbours_of_each_model(numbers: dict):
    assert numbers["retrieval"]
    for query in numbers["retrieval"]:
        assert {name: len(group) for name, group in query["neighbours"].items()} == {"instance": 5, "classifier": 5}


def test_the_projection_has_a_point_for_each_span(numbers: dict):
    projection = numbers["projection"]
    assert len(projection["spans"]) == len(projection["points"]["instance"]) == len(projection["points"]["classifier"])
    for components in projection["components"].values():
        assert len(components["points"]) == len(projection["spans"])
        assert 1 >= components["explained"][0] >= components["explained"][1] > 0


def test_the_models_are_compared_over_the_same_pairs(numbers: dict, page: str):
    left, right = numbers["models"]
    for level, cosine in left["coupling"].items():
        assert cosine["pairs"] == right["coupling"][level]["pairs"] > 0
        assert f'<td class="number">{cosine["mean"]:.3f}</td>' in page
    for key in ("within", "between", "against"):
        assert left["geometry"][key]["pairs"] == right["geometry"][key]["pairs"] > 0
        assert f'<td class="number">{right["geometry"][key]["mean"]:.3f}</td>' in page
    assert left["geometry"]["spans"] == len(numbers["projection"]["spans"])


def test_heads_without_templates_say_so(numbers: dict, page: str):
    assert [model["geometry"]["templates"] is None for model in numbers["models"]] == [True, False]
    assert "No templates in instance" in page
    assert f"{numbers['models'][1]['geometry']['templates']['norm']:.3f}" in page


def test_a_classifier_alone_with_a_curve(
    tmp_path: Path, folders: dict[str, Path], documents: list[Document], corpus: list[Document], parse_page: Callable
):
    model = nearspan.load(folders["classifier"], device="cpu")
    model.recipe = model.recipe.override(["training.epochs=1"])
    curve = {"train": documents, "dev": documents, "sizes": (Fraction(1), Fraction(1, 2))}
    report(model, corpus, out=tmp_path, papers=True, device="cpu", **curve)
    page = (tmp_path / "papers.html").read_text(encoding="utf-8")
    assert '<section id="curve">' in page
    assert "Where the folder holds no metrics.jsonl there is no record: classifier." in page
    assert [point["share"] for point in json.loads((tmp_path / "papers.json").read_text())["curve"]] == [1.0, 0.5]
    parse_page(page)


def test_a_corpus_without_entities_has_nothing_to_draw(tmp_path: Path, instance: Model, parse_page: Callable):
    report(instance, [Document("Rain."), Document("")], out=tmp_path, papers=True)
    text = (tmp_path / "papers.html").read_text(encoding="utf-8")
    assert "nothing to draw" in text
    parse_page(text)
    assert json.loads((tmp_path / "papers.json").read_text())["models"][0]["geometry"]["norm"] is None


@pytest.mark.parametrize(
    ("markup", "pictures"),
    [
        ("[Ada](PERSON)", 1),  # one entity and nothing else
        ("[Ada](PERSON), [Bob](PERSON), [Eve](PERSON), [Bob Stone](PERSON) and [Eve Moon](PERSON) left", 6),
        ("[University of [Oslo](PLACE)](ORG)", 2),
    ],
    ids=["single", "one label, flat", "nested"],
)
def test_a_corpus_with_little_in_it(
    tmp_path: Path, classifier: Model, markup: str, pictures: int, parse_page: Callable
):
    report(classifier, [nearspan.markup(markup)], out=tmp_path, papers=True)
    text = (tmp_path / "papers.html").read_text(encoding="utf-8")
    parse_page(text)
    # widths; structures where entities nest; two of the space and three of the probabilities if there are five
    assert text.count("<svg") == pictures
    assert "NaN" not in (tmp_path / "papers.json").read_text()


def test_models_of_different_widths_are_compared_up_to_the_smaller(
    tmp_path: Path, instance: Model, classifier: Model, corpus: list[Document]
):
    classifier.network.max_width = classifier.network.suggester.max_width = 3
    made = report(instance, corpus, out=tmp_path, compare=classifier, papers=True)
    left, right = (space.coupling for space in made.papers.spaces)
    assert [cosine.pairs for cosine in left.values()] == [cosine.pairs for cosine in right.values()]


def test_models_without_a_record_of_losses_are_named(made: Report):
    nothing = LabelProbabilities([], np.zeros((0, 3)), np.zeros(0, dtype=np.int64))
    results = PaperResults(made.papers.models, [[0.5, 0.25], []], [nothing, nothing])
    page = papers_page(results, "", [])
    assert "there is no record: classifier.</p>" in page
    assert 'aria-label="loss"' in page
