"""`nearspan memory`."""

import json
import shutil

import pytest

from nearspan import markup
from nearspan.formats import write


@pytest.fixture
def memory(nearspan_command, folders, tmp_path):
    shutil.copytree(folders["instance"], tmp_path / "model")

    def run(*arguments, code: int = 0):
        ran = nearspan_command("memory", tmp_path / "model", *arguments)
        assert ran.code == code, ran.err
        return ran

    return run


def test_sentences_are_listed_with_ids_and_labels(memory):
    assert "0  «Ada»⟨PERSON⟩ lives in «Oslo»⟨PLACE⟩" in memory("list").out
    found = json.loads(memory("list", "--text", "MARCH", "--json").out)
    assert [(one["id"], one["document"], one["entities"]) for one in found["sentences"]] == [(5, "d5", [])]
    assert (
        len(json.loads(memory("list", "--label", "PLACE", "--limit", "3", "--offset", "1", "--json").out)["sentences"])
        == 3
    )
    assert memory("list", "--document", "none").out == ""
    assert memory("list", "--limit", "9" * 20).out == memory("list", "--limit", "100").out
    assert memory("list", "--offset", "9" * 20).out == ""


def test_add_search_relabel_remove_undo_log(memory):
    text = memory("add", "[Zed](PERSON) lives in [Bergen](PLACE)", "--document", "mine").out
    assert "sentence 12 of 'mine'" in text
    near = json.loads(memory("search", "Zed lives in Bergen", "--span", "Bergen", "-k", "1", "--json").out)
    assert near["neighbours"]["PLACE"][0]["sentence_id"] == 12
    assert "#12" in memory("search", "Zed lives in Bergen", "--span", "Bergen", "-k", "1").out
    memory("relabel", "--sentence", "12", "--span", "Zed", "--label", "PLACE")
    memory("relabel", "--sentence", "12", "--span", "lives", "--label", "PERSON")
    memory("remove", "--sentence", "12", "--span", "in")
    assert "«Zed»⟨PLACE⟩ «lives»⟨PERSON⟩ «in»⟨removed⟩ «Bergen»⟨PLACE⟩" in memory("list", "--document", "mine").out
    receipt = memory("remove", "--document", "mine").out
    assert "Zed lives in Bergen" in receipt
    assert "added after training" in receipt
    assert "undo edit 5" in memory("undo").out
    log = json.loads(memory("log", "--json").out)["edits"]
    assert [one["kind"] for one in log] == ["add", "relabel", "relabel", "remove", "forget", "undo"]
    assert memory("log").out.count("\n") == 6


def test_sentences_may_count_more_than_once(memory):
    text = "[Zed](PERSON) lives in [Bergen](PLACE)"
    assert "weight 20" in memory("add", text, "--document", "mine", "--weight", "20").out
    assert "mine ×20" in memory("list", "--document", "mine").out
    assert "enough" in memory("relabel", "--sentence", "12", "--span", "Zed", "--label", "PLACE").out
    assert "enough" in memory("add", text, "--search", "whole").out


def test_forgetting_a_training_document_says_what_the_weights_keep(memory):
    receipt = memory("remove", "--document", "d3").out
    assert "Ada met Bob in Paris" in receipt
    assert "Still in the weights" in receipt
    assert "Still on disk" in receipt


def test_a_corpus_can_be_added_and_built(memory, documents, tmp_path):
    write(documents[:3], tmp_path / "more.jsonl")
    assert len(json.loads(memory("add", "--corpus", tmp_path / "more.jsonl", "--json").out)["edits"]) == 3
    found = json.loads(memory("build", tmp_path / "more.jsonl", "--json").out)
    assert (found["sentences"], found["coverage"]["entities"]) == (3, 7)
    assert memory("log").out == ""
    assert "holds 3 sentences" in memory("build").out


@pytest.mark.parametrize("bad", ["[Rex](DOG) barks", " "])
def test_a_corpus_with_one_bad_document_adds_nothing(memory, tmp_path, bad: str):
    write([markup("[Zed](PERSON) sings"), markup(bad)], tmp_path / "half.jsonl")
    memory("add", "--corpus", tmp_path / "half.jsonl", code=2)
    assert memory("log").out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "give a text with markup"),
        (["add", "[Zed](PERSON) x", "--weight", "0"], "above 0"),
        (["add", "[Zed](PERSON) x", "--interpolate", "0.5"], "predicts from its memory already"),
        (["add", "[Zed](PLANET) x"], "no label 'PLANET'"),
        (["add", "[Zed](PERSN) x"], "did you mean 'PERSON'"),
        (["add", "[Zed"], "never closed"),
        (["relabel", "--sentence", "99", "--span", "Ada", "--label", "PLACE"], "no sentence 99"),
        (["relabel", "--sentence", "0", "--span", "Ad", "--label", "PLACE"], "does not stand as whole words"),
        (["relabel", "--sentence", "0", "--span", "", "--label", "PLACE"], "lacks words"),
        (["remove", "--sentence", "0", "--span", " ... "], "lacks words"),
        (["remove", "--sentence", "0", "--span", ""], "lacks words"),
        (["relabel", "--sentence", "0", "--span", "Ada", "--start", "4", "--label", "PLACE"], "at character 4"),
        (["relabel", "--sentence", "0", "--span", "Ada", "--label", "PERSON"], "is PERSON already"),
        (["remove"], "give --sentence"),
        (["remove", "--sentence", "1", "--document", "d1"], "give --sentence"),
        (["remove", "--document", "d33"], "did you mean 'd3'"),
        (["undo"], "no edit to undo"),
        (["search", "Ada", "--span", "Bob"], "does not occur"),
    ],
)
def test_mistakes_are_clear_errors_and_change_nothing(memory, arguments, message):
    assert message in memory(*arguments, code=2).err
    assert memory("log").out == ""


def test_a_folder_that_is_no_model(nearspan_command, tmp_path):
    assert "no model folder" in nearspan_command("memory", tmp_path / "none", "list").err
