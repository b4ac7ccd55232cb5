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

    run.folder = tmp_path / "model"
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
    memory("add", "--corpus", tmp_path / "half.jsonl", "--no-new-labels", code=2)
    assert memory("log").out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "give a text with markup"),
        (["add", "[Zed](PERSON) x", "--weight", "0"], "above 0"),
        (["add", "[Zed](PERSON) x", "--interpolate", "0.5"], "predicts from its memory already"),
        (["add", "[Zed](PLANET) x", "--no-new-labels"], "no label 'PLANET'"),
        (["add", "[Zed](PERSN) x", "--no-new-labels"], "did you mean 'PERSON'"),
        (["add", "[Zed](null) x"], "stands for 'no entity'"),
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


ZED = "Zoe lives in [Zed](PLACE)"  # as the model does not read it
OSLO = "[Ada](PERSON) lives in [Oslo](PERSON)"


def test_a_preview_of_an_addition_says_what_it_would_break_and_adds_nothing(memory):
    text = memory("add", OSLO, "--preview").out
    assert "would add 1 sentence" in text
    assert "in 12 held-out sentences: 0 mended, 1 broken, 0 otherwise wrong. It breaks more than it mends" in text
    assert "broken: 'Oslo' from PLACE to PERSON in 'They left Oslo in the rain'" in text
    assert text.endswith("nothing is changed: leave out --preview to do it\n")
    assert memory("log").out == ""


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["relabel", "--sentence", "0", "--span", "Oslo", "--label", "PERSON"], "relabel"),
        (["remove", "--sentence", "0", "--span", "Oslo"], "remove"),
        (["remove", "--sentence", "0"], "remove"),
        (["remove", "--document", "d0"], "forget"),
    ],
)
def test_other_edits_are_previewed_likewise(memory, arguments, kind: str):
    [preview] = json.loads(memory(*arguments, "--preview", "--json").out)["previews"]
    assert (preview["edit"]["kind"], preview["held_out"]) == (kind, 11)
    assert memory("log").out == ""


def test_each_document_of_a_corpus_is_previewed_by_itself(memory, documents, tmp_path):
    write(documents[:3], tmp_path / "more.jsonl")
    previews = json.loads(memory("add", "--corpus", tmp_path / "more.jsonl", "--preview", "--json").out)["previews"]
    assert [preview["edit"]["number"] for preview in previews] == [1, 1, 1]


def test_held_out_files_are_read_instead_of_the_memory(memory, tmp_path):
    write([markup("She left [Oslo](PLACE)"), markup("Nobody was there")], tmp_path / "mine.jsonl")
    [preview] = json.loads(
        memory("add", OSLO, "--weight", "10", "--preview", "--held-out", tmp_path / "mine.jsonl", "--json").out
    )["previews"]
    assert (preview["held_out"], preview["broken"], preview["changes"][0]["gold"]) == (2, 1, "PLACE")


@pytest.mark.parametrize(
    "edit",
    [["add", OSLO], ["relabel", "--sentence", "0", "--span", "Ada", "--label", ""], ["remove", "--sentence", "0"]],
)
def test_held_out_files_are_read_as_format_and_columns_say(memory, tmp_path, edit):
    (tmp_path / "mine.txt").write_text("She O O\nleft O O\nOslo B-PLACE B-CITY\n\n")
    options = ["--preview", "--held-out", tmp_path / "mine.txt", "--format", "conll", "--columns", "1", "--json"]
    [preview] = json.loads(memory(*edit, *options).out)["previews"]
    assert preview["held_out"] == 1
    misread = memory(*edit, *options[:3], "--format", "pubtator")
    assert "expected ID|t|TITLE" in misread.err


def test_held_out_labels_are_those_of_the_columns_that_are_named(memory, tmp_path):
    (tmp_path / "mine.conll").write_text("She O O\nleft O O\nOslo B-PLACE B-PERSON\n\n")
    edit = ["add", OSLO, "--weight", "10", "--preview", "--held-out", tmp_path / "mine.conll", "--json"]
    effects = [
        json.loads(memory(*edit, "--columns", column).out)["previews"][0]["changes"][0]["effect"]
        for column in ("1", "2")
    ]
    assert effects == ["broken", "mended"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", ZED, "--held-out", "mine.jsonl"], "--held-out is for --preview"),
        (["remove", "--sentence", "0", "--held-out", "mine.jsonl"], "--held-out is for --preview"),
        (["remove", "--sentence", "0", "--preview", "--columns", "1"], "for the files of --held-out"),
        (["relabel", "--sentence", "0", "--span", "Ada", "--label", "", "--format", "conll"], "files of --held-out"),
        (["add", "[Zed](PLANET) x", "--preview", "--no-new-labels"], "no label 'PLANET'"),
    ],
)
def test_a_preview_that_cannot_be_shown_is_a_clear_error(memory, arguments, message: str):
    assert message in memory(*arguments, code=2).err
    assert memory("log").out == ""


def test_after_many_corrections_training_is_due_and_the_receipt_and_the_list_say_so(memory, monkeypatch):
    assert "train again" not in memory("list").out
    monkeypatch.setattr("nearspan.memory.receipts.FEWEST", 1)
    due = "train again: 1 of 13 sentences are corrections that the model would misread"
    text = memory("add", ZED).out
    how = f"{due}\n   nearspan train --from {memory.folder} --out NEW\n"
    assert text.count(due) == 1
    assert text.endswith(how)
    assert memory("list").out.endswith(how)
    assert json.loads(memory("list", "--json").out)["training_due"] == due
    later = memory("add", "Zoe likes [Bonn](PLACE)").out  # it was due before, so that its receipt says nothing
    assert later.count("train again: 2 of 14 sentences are corrections that the model would misread") == 1
    assert [
        any("train again" in line for line in each["receipt"])
        for each in json.loads(memory("log", "--json").out)["edits"]
    ] == [True, False]


def test_a_folder_that_is_no_model(nearspan_command, tmp_path):
    assert "no model folder" in nearspan_command("memory", tmp_path / "none", "list").err
