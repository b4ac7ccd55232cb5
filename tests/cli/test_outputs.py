"""No command writes over what it reads, nor unasked over what is there."""

from pathlib import Path

import pytest

import nearspan
from nearspan.errors import CorpusError

COMMANDS = {  # {m}: a model folder, {gold}: what is read, {out}: what is written
    "annotate": "annotate {m} {gold} --to jsonl --out {out}",
    "annotate to conll": "annotate {m} {gold} --to conll --out {out}",
    "audit": "audit {m} {gold} --out {out}",
    "audit --html": "audit {m} {gold} --html {out}",
    "convert": "convert {gold} {out} --to jsonl",
    "vectors": "vectors {gold} --out {out} --epochs 1 --size 2",
}


@pytest.fixture
def gold(tmp_path: Path, documents) -> Path:
    path = tmp_path / "gold.jsonl"
    nearspan.write(documents, path)
    return path


def words(command: str, **names: Path) -> list[str]:
    return [word.format(**names) for word in COMMANDS[command].split()]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_is_refused_as_output_by_any_name(command: str, gold: Path, folders, nearspan_command):
    before, link = gold.read_bytes(), gold.with_name("link.jsonl")
    link.symlink_to(gold)
    for out in (gold, link):
        for options in ([], ["--force"]):
            ran = nearspan_command(*words(command, m=folders["instance"], gold=gold, out=out), *options)
            assert ran.code == 2
            assert "among the files that are read" in ran.err
    assert gold.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_there_is_replaced_only_with_force(command: str, gold: Path, folders, nearspan_command):
    out = gold.with_name("out.html")
    out.write_text("mine")
    arguments = words(command, m=folders["instance"], gold=gold, out=out)
    ran = nearspan_command(*arguments)
    assert ran.code == 2
    assert "exists already: name another file, or say --force to write over it" in ran.err
    assert out.read_text() == "mine"
    assert nearspan_command(*arguments, "--force").code == 0
    assert out.read_text() != "mine"


def test_explain_replaces_its_own_page_and_no_other(tmp_path: Path, folders, nearspan_command):
    arguments = ("explain", folders["instance"], "Ada lives in Oslo", "--html", tmp_path / "page.html")
    assert [nearspan_command(*arguments).code for _ in range(2)] == [0, 0]
    (tmp_path / "page.html").write_text("mine")
    assert nearspan_command(*arguments).code == 2
    assert nearspan_command(*arguments, "--force").code == 0


def test_a_report_replaces_an_earlier_one_and_nothing_else(gold: Path, folders, nearspan_command):
    folder = gold.parent / "report"
    folder.mkdir()
    (folder / "report.json").write_text("mine")
    arguments = ("report", folders["classifier"], gold, "--out", folder)
    ran = nearspan_command(*arguments)
    assert ran.code == 2
    assert "report.json exists already" in ran.err
    assert (folder / "report.json").read_text() == "mine"
    assert nearspan_command(*arguments, "--force").code == 0
    assert nearspan_command(*arguments).code == 0


def test_a_report_is_not_written_over_its_corpus(tmp_path: Path, documents, folders, nearspan_command):
    corpus = tmp_path / "report.json"
    nearspan.write(documents, corpus)
    ran = nearspan_command("report", folders["classifier"], corpus, "--out", tmp_path, "--force")
    assert ran.code == 2
    assert "among the files that are read" in ran.err
    assert len(nearspan.read(corpus)) == len(documents)


def test_standard_input_is_read_too(gold: Path, folders, start, finish):
    before = gold.read_bytes()
    with gold.open("rb") as stream:
        code, _, err = finish(start("annotate", folders["instance"], "--out", gold, "--force", stdin=stream))
    assert code == 2
    assert "among the files that are read" in err
    assert gold.read_bytes() == before


def test_python_does_not_write_over_what_it_has_read_nor_unasked_over_a_file(gold: Path):
    corpus, copy = nearspan.read(gold), gold.with_name("copy.jsonl")
    for documents in (corpus, gold, [gold]):
        with pytest.raises(CorpusError, match="among the files that are read"):
            nearspan.write(documents, gold, force=True)
    nearspan.write(corpus, copy)
    with pytest.raises(CorpusError, match="say `force`"):
        nearspan.write(corpus, copy)
    with pytest.raises(CorpusError, match="say `force`"):
        nearspan.learn_vectors(corpus, copy)
    nearspan.write(corpus[:1], copy, force=True)
    assert len(nearspan.read(copy)) == 1
