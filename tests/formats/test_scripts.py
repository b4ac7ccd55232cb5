"""Arabic, Russian, German, Portuguese and Chinese keep exact offsets, in every format, through to a trained model."""

import json
from pathlib import Path

import pytest

import nearspan
from nearspan.document import Document, Entity

CONLL = {
    "arabic": [("زارت", "O"), ("ليلى", "B-PER"), ("مدينة", "O"), ("القاهِرة", "B-LOC"), (".", "O")],
    "russian": [("Анна", "B-PER"), ("Белова", "I-PER"), ("живёт", "O"), ("в", "O"), ("Твери", "B-LOC")],
    "german": [("Jörg", "B-PER"), ("mag", "O"), ("Münster", "B-LOC"), ("und", "O"), ("Füße", "O")],
    "portuguese": [("João", "B-PER"), ("saiu", "O"), ("de", "O"), ("São", "B-LOC"), ("Brás", "I-LOC")],
    "chinese": [("王", "B-PER"), ("芳", "I-PER"), ("住", "O"), ("北", "B-LOC"), ("京", "I-LOC"), ("𠮷", "O")],
}
ENTITIES = {
    "arabic": {("ليلى", "PER"), ("القاهِرة", "LOC")},
    "russian": {("Анна Белова", "PER"), ("Твери", "LOC")},
    "german": {("Jörg", "PER"), ("Münster", "LOC")},
    "portuguese": {("João", "PER"), ("São Brás", "LOC")},
    "chinese": {("王 芳", "PER"), ("北 京", "LOC")},
}
TEXTS = {
    "arabic": ("زارت ليلى القاهِرة.", "القاهِرة"),
    "russian": ("Анна живёт в Твери.", "Твери"),
    "german": ("Jörg mag Münster.", "Münster"),
    "portuguese": ("João saiu de São Brás.", "São Brás"),
    "chinese": ("王芳住在北京。", "北京"),
}


def said(document: Document) -> set[tuple[str, str]]:
    return {(entity.span.text(document.text), entity.label) for entity in document.entities}


@pytest.mark.parametrize("language", sorted(CONLL))
def test_columns_keep_their_words(language: str, tmp_path: Path):
    path = tmp_path / "corpus.conll"
    path.write_text("".join(f"{word} {tag}\n" for word, tag in CONLL[language]), encoding="utf-8")
    corpus = nearspan.read(path)
    (document,) = corpus.documents
    assert not corpus.problems
    assert [document.text[a:b] for a, b in document.words] == [word for word, _ in CONLL[language]]
    assert said(document) == ENTITIES[language]


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_characters_and_brat_keep_their_offsets(language: str, tmp_path: Path):
    text, name = TEXTS[language]
    start = text.index(name)
    end = start + len(name)
    path = tmp_path / "corpus.jsonl"
    entities = [{"start": start, "end": end, "label": "LOC"}]
    path.write_text(json.dumps({"text": text, "entities": entities}, ensure_ascii=False) + "\n", encoding="utf-8")
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "one.txt").write_text(text, encoding="utf-8")
    (folder / "one.ann").write_text(f"T1\tLOC {start} {end}\t{name}\n", encoding="utf-8")
    for source in (path, folder):
        corpus = nearspan.read(source)
        assert not corpus.problems
        assert said(corpus.documents[0]) == {(name, "LOC")}


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_model_finds_the_very_characters(language: str, tmp_path: Path):
    text, name = TEXTS[language]
    start = text.index(name)
    documents = [Document(text, (Entity.of(start, start + len(name), "LOC"),))] * 4
    settings = ["encoder.vectors.size=16", "representation.size=8", "training.batch=4", "training.epochs=30"]
    settings += ["training.learning_rate=0.02", f"characters_as_words={str(language == 'chinese').lower()}"]
    recipe = nearspan.recipe("sng").override(settings)
    run = nearspan.train(recipe, documents, documents, out=tmp_path / "run", device="cpu")
    (document,) = run.model.pipe([text])
    assert said(document) == {(name, "LOC")}
