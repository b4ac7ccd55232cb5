"""The report on a system that reads words, not spans; and scores by vocabulary for those with word vectors."""

import json
from pathlib import Path

import pytest

import nearspan
from nearspan.model import Model
from nearspan.report import Report, report
from nearspan.report.scored_model import ScoredModel

SETTINGS = ("encoder.sentence_context.size=3", "training.epochs=3", "training.learning_rate=0.5")


@pytest.fixture(scope="module")
def hire(tiny, documents, tmp_path_factory) -> Model:
    folder = tmp_path_factory.mktemp("words")
    vectors = folder / "vectors.txt"
    vectors.write_text("".join(f"{word} 1 0 {number}\n" for number, word in enumerate(("ada", "oslo", "zorro"))))
    recipe = tiny("hire", *SETTINGS, f"encoder.vectors.file={vectors}")
    return nearspan.train(recipe, documents[:6], out=folder / "model", device="cpu").model


@pytest.fixture(scope="module")
def gold() -> list[nearspan.Document]:
    texts = ("[Ada](PERSON) and [Zorro](PERSON) left", "[Rome](PLACE) and [Qwx](PLACE)", "[Ada Rome](PERSON)")
    return [nearspan.markup(text) for text in texts]


def test_entities_are_scored_by_vocabulary(hire: Model, gold):
    slices = ScoredModel.of("hire", hire, gold).vocabularies
    assert {name: counts.gold for name, counts in slices.items()} == {"IV": 1, "OOTV": 1, "OOEV": 2, "OOBV": 1}


def test_a_model_without_vectors_has_no_such_scores(classifier: Model, gold):
    assert ScoredModel.of("classifier", classifier, gold).vocabularies == {}


def test_the_report_has_them_and_shows_what_was_recalled(hire: Model, documents, tmp_path: Path):
    made: Report = report(hire, documents, out=tmp_path)
    page = made.page.read_text()
    assert "By vocabulary" in page
    numbers = json.loads(made.numbers.read_text())
    assert sum(counts["gold"] for counts in numbers["models"][0]["vocabularies"].values()) == 22
    assert any(entity["strength"] == "attended" for error in numbers["errors"] for entity in error["evidence"])
    assert "training occurrences" in page
