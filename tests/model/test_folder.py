"""Model folders: whole ones load, all others are a ModelError, and nothing in them is run."""

import json
import os
import shutil
import signal
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from safetensors.torch import load_file

import nearspan
from nearspan.errors import ModelError
from nearspan.io.model_folder import FORMAT, file_digest
from nearspan.memory.editor import Editor
from nearspan.model import Model

NEEDED = {
    "instance": (
        "config.toml",
        "model.safetensors",
        "memory.jsonl",
        "memory.safetensors",
        "memory.json",
        "vocabularies/vectors.json",
        "vocabularies/characters.json",
        "vocabularies/labels.json",
    ),
}
NEEDED["classifier"] = NEEDED["instance"]
FILES = [(name, file) for name, files in NEEDED.items() for file in files]

DAMAGE = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "one byte less": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "garbage": lambda path: path.write_bytes(b"\xff\xfe\x00garbage" * 50),
    "text": lambda path: path.write_text("some words\n" * 50),
    "a list": lambda path: path.write_text("[]"),
    "null": lambda path: path.write_text("null"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a socket": lambda path: (path.unlink(), bound_socket(path)),
    "a device": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
}


def bound_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


@pytest.fixture(autouse=True)
def _waits_for_nothing():
    """A pipe that is read would be waited for without end."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("something is waited for"))
    signal.alarm(300)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(("name", "file"), FILES)
def test_every_needed_file_is_needed_whole(folders, tmp_path: Path, name: str, file: str, damage: str):
    folder = shutil.copytree(folders[name], tmp_path / "m")
    DAMAGE[damage](folder / file)
    with pytest.raises(ModelError):
        nearspan.load(folder, device="cpu")


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_a_model_is_its_needed_files(folders, tmp_path: Path, name: str, documents):
    for file in (*NEEDED[name], "journal.jsonl"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(folders[name] / file, tmp_path / file)
    loaded, whole = nearspan.load(tmp_path, device="cpu"), nearspan.load(folders[name], device="cpu")
    assert list(loaded.pipe(documents)) == list(whole.pipe(documents))


@pytest.mark.parametrize("file", ["model.safetensors", "memory.safetensors"])
@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_numbers_that_have_changed_on_disk_are_seen(folders, tmp_path: Path, name: str, file: str):
    folder = shutil.copytree(folders[name], tmp_path / "m")
    content = bytearray((folder / file).read_bytes())
    content[-200] ^= 1
    (folder / file).write_bytes(content)
    with pytest.raises(ModelError, match=rf"{file} is damaged: its tensors are not as they were written"):
        nearspan.load(folder, device="cpu")


def test_a_folder_swapped_for_another_models_part_is_seen(folders, tmp_path: Path):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    shutil.copy(folders["classifier"] / "model.safetensors", folder / "model.safetensors")
    with pytest.raises(ModelError, match="is damaged"):
        nearspan.load(folder, device="cpu")


def test_the_memory_of_another_training_is_seen_and_filled_anew(folders, documents, tmp_path: Path, nearspan_command):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    recipe = nearspan.load(folder, device="cpu").recipe.override(["training.epochs=1"])
    nearspan.train(recipe, documents, documents, out=tmp_path / "other", seed=1, device="cpu")
    shutil.copy(tmp_path / "other" / "memory.safetensors", folder)
    with pytest.raises(ModelError, match="memory of another training"):
        nearspan.load(folder, device="cpu")
    with pytest.raises(ModelError, match="memory of another training"):
        Editor.open(folder, device="cpu")
    for file in ("memory.jsonl", "memory.safetensors", "journal.jsonl", "memory.json"):  # as the message says
        (folder / file).unlink()
    nearspan.write(documents, tmp_path / "data.jsonl")
    assert nearspan_command("memory", folder, "build", tmp_path / "data.jsonl", "--device", "cpu").code == 0
    assert nearspan.load(folder, device="cpu").datastore


def test_no_folder_an_empty_one_a_file_and_a_foreign_one(tmp_path: Path):
    with pytest.raises(ModelError, match="no model folder at"):
        nearspan.load(tmp_path / "absent", device="cpu")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="it is empty"):
        nearspan.load(tmp_path / "empty", device="cpu")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="no model folder at"):
        nearspan.load(tmp_path / "file", device="cpu")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"holds no config\.toml, so it is not a nearspan model$"):
        nearspan.load(foreign, device="cpu")
    (foreign / "checkpoint.safetensors").touch()
    with pytest.raises(ModelError, match=r"not a nearspan model yet: its training did not finish: resume it"):
        nearspan.load(foreign, device="cpu")
    (foreign / "config.toml").write_text('[tool]\nname = "other"\n')
    with pytest.raises(ModelError, match="damaged"):
        nearspan.load(foreign, device="cpu")


def test_a_folder_whose_name_is_too_long_is_none():
    with pytest.raises(ModelError, match="no model folder at"):
        nearspan.load("x" * 300, device="cpu")


VOCABULARIES = ["labels", "vectors", "characters"]


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_vocabulary_in_another_order_is_seen(folders, tmp_path: Path, name: str):
    """It fits the weights, and every row would be another's."""
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    path = folder / "vocabularies" / f"{name}.json"
    found = json.loads(path.read_text())
    entries = (
        found if isinstance(found, list) else max((one for one in found.values() if isinstance(one, list)), key=len)
    )
    entries.reverse()
    path.write_text(json.dumps(found, ensure_ascii=False))
    with pytest.raises(ModelError, match=rf"{name}\.json is damaged: it is not as it was written; put back"):
        nearspan.load(folder, device="cpu")


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_vocabulary_that_is_gone_is_named(folders, tmp_path: Path, name: str):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    (folder / "vocabularies" / f"{name}.json").unlink()
    with pytest.raises(ModelError, match=rf"damaged: vocabularies/{name}\.json is missing; put back"):
        nearspan.load(folder, device="cpu")


def test_weights_of_another_model_are_seen_without_a_memory_too(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    other = nearspan.load(folders["classifier"], device="cpu")
    with torch.no_grad():
        next(other.network.parameters()).add_(1)
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", folder)
    with pytest.raises(ModelError, match=r"model\.safetensors is of another model than config\.toml"):
        Model.load(folder, device="cpu", memory=False)


def test_a_save_that_was_cut_off_is_not_taken_for_a_training(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    (folder / "config.toml").unlink()
    (folder / "checkpoint.safetensors").touch()
    with pytest.raises(ModelError, match="not a nearspan model any more: writing it anew was cut off"):
        nearspan.load(folder, device="cpu")


def test_a_label_that_cannot_be_written_is_an_error_and_the_old_model_stays(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    model = nearspan.load(folder, device="cpu")
    labels = list(model.labels)
    model.trained_labels[0] = "\ud800"
    with pytest.raises(ModelError, match="cannot save the model"):
        model.save(folder)
    assert nearspan.load(folder, device="cpu").labels == labels
    assert not list(folder.glob(".*"))


def test_what_is_no_part_of_the_model_is_not_read(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    (folder / "vocabularies" / "strings.json").write_text("[]")
    assert nearspan.load(folder, device="cpu").strings is None


def test_a_model_takes_the_place_of_another_one_and_leaves_what_is_neithers(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    (folder / "vocabularies" / "mine.json").write_text("[]")
    (folder / "vocabularies" / "word_memory.json").write_text("[]")
    with_files(folder, lambda files: files | {"vocabularies/word_memory.json": "0"})
    nearspan.load(folders["classifier"], device="cpu").save(folder)
    names = {file.stem for file in (folder / "vocabularies").iterdir()}
    assert names == {"labels", "vectors", "characters", "mine"}
    assert nearspan.load(folder, device="cpu").labels


def with_files(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a model's config says of its files."""
    config = tomllib.loads((folder / "config.toml").read_text())
    config["model"]["files"] = change(config["model"]["files"])
    (folder / "config.toml").write_text(tomli_w.dumps(config))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: 3,
        lambda _: ["vocabularies/vectors.json"],
        lambda files: files | {"../other.json": "0"},
        lambda files: files | {"/etc/hostname": "0"},
        lambda files: files | {"vocabularies/../config.toml": "0"},
        lambda files: files | {"vocabularies": "0"},
        lambda files: files | {"": "0"},
        lambda files: files | {"vocabularies/a\0b.json": "0"},
        lambda _: {},
        lambda files: {name: files[name] for name in files if "vectors" not in name},
    ],
)
def test_a_config_that_names_other_files_is_damaged(folders, tmp_path: Path, change):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    with_files(folder, change)
    with pytest.raises(ModelError, match=r"config\.toml is damaged: \[model\.files\] does not name"):
        nearspan.load(folder, device="cpu")


def test_a_digest_that_is_none_is_seen(folders, tmp_path: Path):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    with_files(folder, lambda files: files | {"vocabularies/vectors.json": 3})
    with pytest.raises(ModelError, match=r"vectors\.json is damaged: it is not as it was written"):
        nearspan.load(folder, device="cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"vectors\.json is damaged: Expecting"),
        ('{"trained": ["a"], "frozen": []}', "first trained word is not"),
        ('{"trained": ["<unknown>"], "frozen": [], "size": 0, "own": 1, "seen": []}', "is damaged: .*division by zero"),
        ('{"trained": ["<unknown>"], "frozen": [], "size": 1e400, "own": 1, "seen": []}', "is damaged"),
    ],
)
def test_words_that_are_none_are_seen_though_their_digest_is_right(folders, tmp_path: Path, content: str, message: str):
    folder = shutil.copytree(folders["classifier"], tmp_path / "m")
    path = folder / "vocabularies" / "vectors.json"
    path.write_text(content)
    with_files(folder, lambda files: files | {"vocabularies/vectors.json": file_digest(path)})
    with pytest.raises(ModelError, match=message):
        nearspan.load(folder, device="cpu")


@pytest.mark.parametrize("content", ["", "model = 3", "[model]", "[model]\nnearspan", "[recipe]"])
def test_a_config_that_is_none_is_named(folders, tmp_path: Path, content: str):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    (folder / "config.toml").write_text(content)
    with pytest.raises(ModelError, match=r"config\.toml is damaged"):
        nearspan.load(folder, device="cpu")


def test_a_config_without_a_recipe_says_so(folders, tmp_path: Path):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    (folder / "config.toml").write_text((folder / "config.toml").read_text().split("[recipe]")[0])
    with pytest.raises(ModelError, match=r"config\.toml has wrong settings:\n  name: Field required"):
        nearspan.load(folder, device="cpu")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_width", "max_widht", "did you mean 'max_width'"),
        (f"nearspan = {FORMAT}", "nearspan = 99", "format 99"),
        ('overlap = "flat"', 'overlap = "sideways"', "sideways"),
        ("max_width = 6", "max_width = 0", "max_width"),
        ("max_width = 6", 'max_width = "six"', "max_width"),
        ("size = 8", "size = 9", "damaged"),
        ('kind = "instances"', 'kind = "oracle"', "oracle"),
    ],
)
def test_a_changed_config_is_a_clear_error(folders, tmp_path: Path, old: str, new: str, message: str):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    config = (folder / "config.toml").read_text()
    assert old in config
    (folder / "config.toml").write_text(config.replace(old, new))
    with pytest.raises(ModelError, match=message):
        nearspan.load(folder, device="cpu")


def test_there_is_no_pickle_in_a_model_folder(folders):
    for folder in folders.values():
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} <= {".toml", ".safetensors", ".json", ".jsonl", ".md"}
        for path in files:
            if path.suffix == ".safetensors":
                load_file(path)
            else:
                path.read_text(encoding="utf-8")


def test_loading_opens_no_pickle(folders, monkeypatch):
    import pickle

    import torch

    def refuse(*_, **__):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    for folder in folders.values():
        nearspan.load(folder, device="cpu")


def test_saved_and_loaded_it_is_the_same_model(folders, instance: Model, classifier: Model, tmp_path: Path, documents):
    for name, model in (("instance", instance), ("classifier", classifier)):
        model.save(tmp_path / name, "a card")
        again = nearspan.load(tmp_path / name, device="cpu")
        assert again.recipe == model.recipe
        assert again.labels == model.labels
        for one, other in zip(model.pipe(documents), again.pipe(documents), strict=True):
            assert one == other
            assert [e.score for e in one.entities] == [e.score for e in other.entities]
        for file in NEEDED[name]:
            assert (tmp_path / name / file).read_bytes() == (folders[name] / file).read_bytes()
        assert (tmp_path / name / "README.md").read_text() == "a card"


def test_a_model_without_a_memory_leaves_no_old_one_behind(classifier: Model, tmp_path: Path):
    classifier.save(tmp_path)
    classifier.datastore = None
    classifier.save(tmp_path)
    assert nearspan.load(tmp_path, device="cpu").datastore is None


@pytest.mark.parametrize(("limit", "stays"), [(1, True), (300, True), (3000, False), (5000, False)])
def test_a_full_disk_leaves_no_folder_that_looks_whole(
    instance: Model, tmp_path: Path, full_disk, limit: int, stays: bool
):
    instance.save(tmp_path)  # an old model is in the way; it stays where already the small files find no room
    with full_disk(limit), pytest.raises(ModelError, match="cannot save the model to"):
        instance.save(tmp_path, "a card")
    assert (tmp_path / "config.toml").exists() == stays
    if stays:
        assert nearspan.load(tmp_path, device="cpu")
    else:
        with pytest.raises(ModelError, match=r"config\.toml"):
            nearspan.load(tmp_path, device="cpu")
    instance.save(tmp_path)
    assert nearspan.load(tmp_path, device="cpu")


def test_a_file_in_the_way_is_a_clear_error(instance: Model, tmp_path: Path):
    (tmp_path / "m").write_text("a file")
    with pytest.raises(ModelError, match="cannot save the model to"):
        instance.save(tmp_path / "m")


def test_labels_of_any_script_survive(tiny, tmp_path: Path):
    documents = [nearspan.markup(text) for text in ("[Ada](人 名) left", '[Bob](人 名) [x](a/b "c")', "Eve [y](é)")]
    recipe = tiny("instance", "training.batch=1")
    run = nearspan.train(recipe, documents, out=tmp_path / "m", device="cpu")
    loaded = nearspan.load(tmp_path / "m", device="cpu")
    assert loaded.labels == run.model.labels == ["", 'a/b "c"', "é", "人 名"]
    assert json.loads((tmp_path / "m" / "vocabularies" / "labels.json").read_text()) == loaded.labels[1:]


def test_what_cannot_be_written_as_text_is_a_model_error(classifier: Model, tmp_path: Path):
    with pytest.raises(ModelError, match="cannot save the model to"):
        classifier.save(tmp_path / "m", card="half of a character: \ud800")
    assert not (tmp_path / "m" / "config.toml").exists()


def test_the_versions_that_wrote_a_model_are_named_where_it_does_not_load_under_others(folders, tmp_path: Path):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    config = tomllib.loads((folder / "config.toml").read_text())
    assert config["model"]["versions"].keys() == {"nearspan", "python", "torch", "transformers"}
    config["model"]["versions"] |= {"transformers": "99.1", "python": "3.99.0"}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    assert nearspan.load(folder, device="cpu").labels  # other versions alone are no error
    config["recipe"]["encoder"]["bilstm"]["size"] += 1
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    with pytest.raises(ModelError, match=r"damaged: .*\(it was written with python 3\.99\.0, transformers 99\.1, and"):
        nearspan.load(folder, device="cpu")


def test_versions_are_not_blamed_for_what_is_damaged_or_the_same(folders, tmp_path: Path):
    folder = shutil.copytree(folders["instance"], tmp_path / "m")
    config = tomllib.loads((folder / "config.toml").read_text())
    config["recipe"]["encoder"]["bilstm"]["size"] += 1
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    with pytest.raises(ModelError, match="damaged") as caught:
        nearspan.load(folder, device="cpu")
    assert "it was written with" not in str(caught.value)
    config["model"]["versions"]["torch"] = "0.1"
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    (folder / "vocabularies/labels.json").write_text("[]")
    with pytest.raises(ModelError, match="is not as it was written") as caught:
        nearspan.load(folder, device="cpu")
    assert "it was written with" not in str(caught.value)
