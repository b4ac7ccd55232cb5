"""A model that classifies given spans, on the command line."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document

TINY = ("encoder.vectors.size=8", "representation.size=4", "training.batch=4", "training.epochs=2")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, documents: Sequence[Document]) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.jsonl"
    nearspan.write(documents, path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, documents: Sequence[Document]) -> Path:
    out = tmp_path_factory.mktemp("given") / "run"
    nearspan.train(
        nearspan.recipe("sng").override([*TINY, "suggester.kind=given"]), documents, documents, out=out, device="cpu"
    )
    return out


def test_training_shows_accuracy(nearspan_command, corpus: Path, tmp_path: Path):
    settings = [part for setting in (*TINY, "suggester.kind=given") for part in ("--set", setting)]
    ran = nearspan_command("train", "sng", "--train", corpus, "--dev", corpus, "--out", tmp_path / "run", *settings)
    assert ran.code == 0, ran.err
    assert "dev accuracy" in ran.err
    assert "majority by string" in ran.err
    assert "F1" not in ran.err


def test_evaluate_prints_scores_of_classification_alone(nearspan_command, model: Path, corpus: Path):
    ran = nearspan_command("evaluate", model, corpus)
    assert ran.code == 0, ran.err
    assert "accuracy" in " ".join(ran.out.split())
    assert "recall" not in ran.out
    content = json.loads(nearspan_command("evaluate", model, corpus, "--json").out)
    assert content["task"] == "span classification"
    assert 0 <= content["accuracy"] <= 1
    assert content["baseline"]["accuracy"] == 1.0
    assert {"precision", "recall", "f1", "macro_f1"}.isdisjoint(content)


def test_annotate_labels_a_corpus_anew_and_refuses_raw_text(
    nearspan_command, model: Path, corpus: Path, tmp_path: Path
):
    ran = nearspan_command("annotate", model, corpus)
    spans = [[(e["start"], e["end"]) for e in json.loads(line)["entities"]] for line in ran.out.splitlines()]
    assert spans == [[(e.start, e.end) for e in document.entities] for document in nearspan.read(corpus).documents]
    text = tmp_path / "notes.txt"
    text.write_text("Ada lives in Oslo")
    for source in ("-", text):
        ran = nearspan_command("annotate", model, source, stdin=b"Ada lives in Oslo\n")
        assert ran.code == 2
        assert "Give it a corpus with entities" in ran.err


def test_explain_asks_for_a_span(nearspan_command, model: Path):
    assert "--span" in nearspan_command("explain", model, "Ada lives in Oslo").err
    ran = nearspan_command("explain", model, "Ada lives in Oslo", "--span", "Oslo", "--json")
    assert json.loads(ran.out)["evidence"][0]["label"] in ("PERSON", "PLACE")


@pytest.mark.parametrize("command", [("serve",), ("memory", "list")])
def test_what_is_for_models_that_find_entities_is_refused(nearspan_command, model: Path, command: tuple[str, ...]):
    name, *rest = command
    ran = nearspan_command(name, model, *rest)
    assert ran.code == 2
    assert "classifies spans that are given" in ran.err


def test_a_report_has_no_score_of_recognition(nearspan_command, model: Path, corpus: Path, folders, tmp_path):
    ran = nearspan_command("report", model, corpus, "--out", tmp_path / "report", "--papers")
    assert ran.code == 0, ran.err
    page, papers = ((tmp_path / f"report/{name}.html").read_text() for name in ("report", "papers"))
    assert "majority by string" in page
    assert "F1</th>" not in page
    assert re.findall(r'<section id="(\w+)"', page) == ["scores", "trust", "confusion", "errors", "coverage", "model"]
    assert re.findall(r'<section id="(\w+)"', papers) == ["loss", "outputs"]
    (content,) = json.loads((tmp_path / "report/report.json").read_text())["models"]
    assert "f1" not in content
    assert len(json.loads((tmp_path / "report/papers.json").read_text())["models"][0]["losses"]) == 2
    mixed = nearspan_command("report", model, corpus, "--out", tmp_path / "mixed", "--compare", folders["classifier"])
    assert mixed.code == 2
    assert "cannot be compared" in mixed.err
