"""Models of the hub: what is taken for one, where it comes from, and that nothing else is asked or taken."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

import nearspan
from nearspan.errors import ModelError
from nearspan.integrations.huggingface import local_folder

TEXT = "Ada lives in Oslo"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_model_of_the_hub_predicts_as_its_folder_does(hub, folders):
    hub.add("ada/ner", folders["instance"])
    model = nearspan.load("ada/ner", "cpu")
    local = nearspan.load(folders["instance"], "cpu")
    assert model(TEXT).to_dict() == local(TEXT).to_dict()
    assert model.explain(TEXT)[0].probabilities == local.explain(TEXT)[0].probabilities


def test_only_the_files_of_a_model_are_taken(hub, folders):
    hub.add("ada/ner", folders["classifier"])
    hub.repositories["ada/ner"] |= {"setup.py": b"raise SystemExit", "encoder.pkl": b"", "data/train.jsonl": b""}
    folder = local_folder("ada/ner")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert "config.toml" in files
    assert not files & {"setup.py", "encoder.pkl", "data/train.jsonl", "result.json", "metrics.jsonl"}


def test_the_checks_of_every_model_folder_apply(hub, folders):
    hub.add("eve/ner", folders["classifier"])
    hub.repositories["eve/ner"]["vocabularies/labels.json"] = b'["PLACE", "PERSON"]'
    with pytest.raises(ModelError, match=r"labels.json is damaged: it is not as it was written"):
        nearspan.load("eve/ner")


def test_a_misspelt_folder_beside_others_is_no_id(hub, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    with pytest.raises(ModelError, match="runs/typo"):
        nearspan.load("runs/typo")
    assert hub.asked == []
    hub.add("runs/typo", folders["classifier"])
    assert nearspan.load("runs/typo@main").labels


def test_a_folder_of_this_name_comes_first(hub, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ada").mkdir()
    Path("ada/ner").symlink_to(folders["classifier"])
    assert local_folder("ada/ner") == Path("ada/ner")
    assert hub.asked == []


def test_a_local_folder_asks_no_network(folders, no_network):
    assert nearspan.load(folders["classifier"], "cpu")(TEXT).text == TEXT


@pytest.mark.parametrize("name", ["./ada/ner", "/ada/ner", "ner", "a/b/c", "ada/ner/", "../ner", "ada/n er", ""])
def test_other_names_are_paths(name, no_network):
    assert local_folder(name) == Path(name)


def test_a_path_is_no_id(no_network):
    assert local_folder(Path("ada/ner")) == Path("ada/ner")


def test_a_revision_is_a_branch_a_tag_or_a_commit(hub, folders):
    hub.add("ada/ner", folders["classifier"])
    commit = hub.commit("ada/ner")
    for folder in (local_folder("ada/ner", "v1"), local_folder("ada/ner@v1"), local_folder("ada/ner", commit)):
        assert folder.name == commit
    with pytest.raises(ModelError, match="ada/ner has no revision 'v9'"):
        local_folder("ada/ner", "v9")
    with pytest.raises(ModelError, match="names a revision already"):
        local_folder("ada/ner@v1", "v2")


def test_a_revision_of_a_local_folder_is_an_error(folders):
    with pytest.raises(ModelError, match="`revision` is for models of the Hugging Face hub"):
        nearspan.load(folders["classifier"], revision="v1")


def test_what_is_in_the_cache_is_found_without_a_network(hub, folders):
    hub.add("ada/ner", folders["classifier"])
    local_folder("ada/ner", "v1")
    hub.asked.clear()
    assert nearspan.load("ada/ner", "cpu", revision="v1", local_files_only=True).labels[1:] == ["PERSON", "PLACE"]
    assert hub.asked == []
    code = "from nearspan.integrations.huggingface import local_folder; print(local_folder('ada/ner', 'v1'))"
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": constants.HF_HUB_CACHE, "HF_ENDPOINT": hub.url}
    done = subprocess.run([sys.executable, "-c", code], env=offline, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_dir()
    assert hub.asked == []


def test_a_cache_that_lacks_the_model_says_so(hub):
    with pytest.raises(ModelError, match=r"^no model folder at ada/ner, and it cannot be had from the .* hub: "):
        local_folder("ada/ner", local_files_only=True)


def test_a_name_that_is_neither_folder_nor_model_says_so(hub):
    with pytest.raises(ModelError, match=r"no model folder at nobody/mein, and no model of this name on the .* hub"):
        nearspan.load("nobody/mein")


def test_the_cache_of_the_hub_is_not_edited(hub, folders, tmp_path):
    hub.add("ada/ner", folders["instance"])
    model = nearspan.load("ada/ner", "cpu")
    before = sorted(path.name for path in model.path.iterdir())
    with pytest.raises(ModelError, match=r"ada/ner is in the cache of the Hugging Face hub.*hf download ada/ner"):
        model.memory.add("[Vienna](PLACE) is cold")
    with pytest.raises(ModelError, match="is in the cache"):
        model.save_calibration()
    assert sorted(path.name for path in model.path.iterdir()) == before
    model.save(tmp_path / "mine")
    assert model.memory.add("[Vienna](PLACE) is cold").kind == "add"


def test_commands_take_ids(hub, folders, nearspan_command):
    hub.add("ada/ner", folders["classifier"])
    ran = nearspan_command("annotate", "ada/ner@v1", stdin=b"Ada lives in Oslo")
    assert ran.code == 0, ran.err
    assert '"label": "PLACE"' in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "ada/ner", TEXT],
        ["memory", "ada/ner", "list"],
        ["evaluate", "ada/ner", "gold.jsonl"],
        ["audit", "ada/ner", "gold.jsonl"],
        ["report", "ada/ner", "gold.jsonl", "--out", "report", "--compare", "ada/ner"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_that_reads_a_model_does(
    hub, folders, documents, nearspan_command, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    nearspan.write(documents, "gold.jsonl")
    hub.add("ada/ner", folders["instance"])
    ran = nearspan_command(*arguments)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    "arguments",
    [["memory", "ada/ner", "add", "[Vienna](PLACE) is cold"], ["memory", "ada/ner", "repair", "--lose-edits"]],
    ids=lambda arguments: arguments[2],
)
def test_commands_that_edit_say_to_make_a_copy(hub, folders, nearspan_command, arguments):
    hub.add("ada/ner", folders["instance"])
    ran = nearspan_command(*arguments)
    assert ran.code == 2
    assert "make a copy of your own first" in ran.err


def test_a_command_names_what_is_not_there(hub, nearspan_command):
    ran = nearspan_command("annotate", "nobody/mein", stdin=b"Ada lives in Oslo")
    assert ran.code == 2
    assert "no model folder at nobody/mein, and no model of this name on the Hugging Face hub" in ran.err


@pytest.mark.parametrize("name", ["./ada/ner", "../ada/ner", "/ada/ner"])
@pytest.mark.parametrize("arguments", [["annotate", "{}"], ["memory", "{}", "log"], ["serve", "{}"]])
def test_a_path_on_the_command_line_is_no_id(hub, folders, nearspan_command, tmp_path, monkeypatch, name, arguments):
    hub.add("ada/ner", folders["classifier"])
    monkeypatch.chdir(tmp_path)
    ran = nearspan_command(*(argument.format(name) for argument in arguments), stdin=b"Ada lives in Oslo")
    assert ran.code == 2
    assert "ada/ner" in ran.err
    assert hub.asked == []
