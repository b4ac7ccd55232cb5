import inspect
from pathlib import Path

import pytest

from nearspan.cli.vectors import vectors
from nearspan.encoders.glove import GloveSettings
from nearspan.encoders.vector_files import read_vectors


def test_vectors_of_a_corpus_are_a_file_that_the_encoder_reads(nearspan_command, tmp_path: Path):
    corpus, out = tmp_path / "train.txt.jsonl", tmp_path / "vectors.txt"
    corpus.write_text('{"text": "Ada met Bob. Bob met Ada."}\n', encoding="utf-8")
    ran = nearspan_command("vectors", corpus, "--out", out, "--size", "5", "--epochs", "2")
    assert ran.code == 0, ran.err
    assert "4 vectors of 5 numbers" in ran.out
    words, vectors = read_vectors(out, 10)
    assert sorted(words) == [".", "Ada", "Bob", "met"]
    assert vectors.shape == (4, 5)


def test_lower_case_and_characters(nearspan_command, tmp_path: Path):
    corpus, out = tmp_path / "train.jsonl", tmp_path / "vectors.txt"
    corpus.write_text('{"text": "Ab aB"}\n', encoding="utf-8")
    assert nearspan_command("vectors", corpus, "--out", out, "--size", "2", "--epochs", "1", "--lower").code == 0
    assert read_vectors(out, 10)[0] == ["ab"]
    made = ("--out", out, "--size", "2", "--epochs", "1", "--least", "1", "--characters", "--force")
    assert nearspan_command("vectors", corpus, *made).code == 0
    assert sorted(read_vectors(out, 10)[0]) == ["A", "B", "a", "b"]


@pytest.mark.parametrize("name", ["plain.txt", "PLAIN.TXT"])
def test_plain_text_beside_a_corpus(nearspan_command, tmp_path: Path, name: str):
    corpus, text, out = tmp_path / "train.jsonl", tmp_path / name, tmp_path / "vectors.txt"
    corpus.write_text('{"text": "Ada met Bob. Bob met Ada."}\n', encoding="utf-8")
    text.write_text("Ada slept. Bob slept.\n", encoding="utf-8")
    ran = nearspan_command("vectors", corpus, text, "--out", out, "--size", "2", "--epochs", "1")
    assert ran.code == 0, ran.err
    assert sorted(read_vectors(out, 10)[0]) == [".", "Ada", "Bob", "met", "slept"]


def test_a_corpus_may_end_in_txt_too(nearspan_command, tmp_path: Path):
    corpus, out = tmp_path / "train.txt", tmp_path / "vectors.txt"
    corpus.write_text("Ada NNP B-PER\nleft VBD O\n\nAda NNP B-PER\nleft VBD O\n\n" * 3, encoding="utf-8")
    for columns in ((), ("--columns", "2")):
        made = ("--out", out, "--size", "2", "--epochs", "1", "--force", *columns)
        assert nearspan_command("vectors", corpus, *made).code == 0
        assert sorted(read_vectors(out, 10)[0]) == ["Ada", "left"]
    corpus.write_text("Ada left. Ada stayed.\n", encoding="utf-8")
    ran = nearspan_command("vectors", corpus, "--out", out, "--columns", "2", "--force")
    assert ran.code == 2
    assert "is not clear from its content" in " ".join(ran.err.split())


def test_too_little_text_is_one_clear_error(nearspan_command, tmp_path: Path):
    corpus = tmp_path / "train.jsonl"
    corpus.write_text('{"text": "one two"}\n', encoding="utf-8")
    ran = nearspan_command("vectors", corpus, "--out", tmp_path / "vectors.txt")
    assert ran.code == 2
    assert "--least" in ran.err


@pytest.mark.parametrize(
    ("option", "value"),
    [("size", "100000"), ("size", "0"), ("window", "1" + "0" * 20), ("least", "0"), ("epochs", "0"), ("x-max", "inf")],
)
def test_numbers_out_of_range_are_one_clear_error(nearspan_command, tmp_path: Path, option: str, value: str):
    corpus, out = tmp_path / "train.jsonl", tmp_path / "vectors.txt"
    corpus.write_text('{"text": "Ada met Bob. Bob met Ada."}\n', encoding="utf-8")
    ran = nearspan_command("vectors", corpus, "--out", out, f"--{option}", value)
    assert ran.code == 2
    assert f"error: --{option} {value}: Input should be" in ran.err.replace("\n", " ")
    assert not out.exists()


def test_the_defaults_are_those_of_the_settings():
    """They are written twice, as the settings load torch."""
    settings = GloveSettings().model_dump(exclude={"batch"})  # which is no option
    defaults = {name: option.default for name, option in inspect.signature(vectors).parameters.items()}
    assert {name: defaults[name] for name in settings} == settings
