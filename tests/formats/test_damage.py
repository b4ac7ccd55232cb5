"""A piece of `benchmarks/fuzz.py`: damaged files are read, listed or refused, and nothing is lost silently."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearspan.formats.draft import Draft

NAMES = ("conll", "jsonl", "pubtator", "indexed", "brat", "tsv", "obo", "umls", "wordnet")
TOOLS = (
    "ner-tags",
    "gliner",
    "dygie",
    "langextract",
    "prodigy",
    "label-studio",
    "label-studio-min",
    "doccano",
    "argilla",
    "spacy-json",
)


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # where it has its own parts
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.mark.parametrize("name", [*NAMES, *TOOLS])
def test_damaged_files_are_read_listed_or_refused(fuzz: ModuleType, tmp_path: Path, name: str):
    damaged = fuzz.Fuzz(0, tmp_path)

    @settings(max_examples=100)
    @given(st.integers(0, 2**32))
    def check(number: int) -> None:
        assert damaged.check(name, number) in ("read", "listed", "refused")

    check()


@pytest.mark.parametrize("name", NAMES[:5])
def test_it_finds_a_reader_that_loses_entities(
    fuzz: ModuleType, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    whole = Draft.document
    monkeypatch.setattr(Draft, "document", lambda draft: whole(draft).with_entities(whole(draft).entities[:1]))
    outcomes = [fuzz.Fuzz(0, tmp_path).outcome(name, number).split()[0] for number in range(20)]
    assert "miscounts" in outcomes
    monkeypatch.setattr("nearspan.formats.document_stream.check_sum", lambda *_: None)
    monkeypatch.setattr("nearspan.formats.brat.refuse_loss", lambda corpus, source: corpus)
    outcomes = [fuzz.Fuzz(0, tmp_path).outcome(name, number).split()[0] for number in range(20)]
    assert "silent" in outcomes


def test_it_finds_an_error_that_is_not_ours(fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Draft, "add", lambda *_, **__: {}["a key"])
    outcomes = [fuzz.Fuzz(0, tmp_path).outcome("jsonl", number) for number in range(20)]
    assert "tracebacks KeyError formats/json_records.py:_read_text" in outcomes
