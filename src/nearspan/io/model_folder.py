"""The files of a model folder: put in their places in one step, named with their digests, checked when read.

`config.toml` names a model's own files: vocabularies as JSON, and what a pretrained encoder needs beside its weights.
Nothing in a model folder is run, and no pickle is read.
"""

import hashlib
import json
import shutil
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nearspan.errors import ModelError, first_line
from nearspan.io.atomic import sync
from nearspan.io.paths import exists, open_regular

CONFIG, WEIGHTS, CARD = "config.toml", "model.safetensors", "README.md"
CALIBRATION = "calibration.json"  # how probabilities become scores, and thresholds, where there are any
VOCABULARIES, ENCODER = "vocabularies", "encoder"
CHECKPOINT, RESULT = "checkpoint.safetensors", "result.json"  # of a training under way, and of one that is finished
FORMAT = 12

Digests = dict[str, str]  # of files, by their names in the model folder


def file_digest(path: Path) -> str:
    """Sixteen hexadecimal digits that change with a file's content."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@contextmanager
def staging_folder(path: Path) -> Iterator[Path]:
    """A folder in a model folder for files that are to take their places when all are written."""
    staging = path / ".files.new"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / VOCABULARIES).mkdir(parents=True)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def install_files(staging: Path, path: Path) -> Digests:
    """Move all files to their places; from here on no model is there, and what an earlier one had is gone."""
    files = {
        file.relative_to(staging).as_posix(): file_digest(file) for file in sorted(staging.rglob("*")) if file.is_file()
    }
    earlier: Digests = {}
    with suppress(OSError, ModelError):
        earlier = listed_files(path, read_config(path / CONFIG)["model"].get("files"))
    _refuse_strays(path, files, earlier)
    (path / CONFIG).unlink(missing_ok=True)
    sync(path)
    for name in earlier.keys() - files.keys():
        (path / name).unlink(missing_ok=True)
    for name in files:
        sync(staging / name)
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).replace(path / name)
    return files


def listed_files(path: Path, files: Any) -> Digests:
    """A model's own files, as its config names them."""
    if not isinstance(files, dict) or not all(_is_own(name) for name in files):
        raise ModelError(f"{path / CONFIG} is damaged: [model.files] does not name the files of a model")
    return files


def _is_own(name: str) -> bool:
    first, *others = name.split("/")
    return first in (VOCABULARIES, ENCODER) and bool(others) and not {"", ".", ".."} & {*others} and "\0" not in name


def check_files(path: Path, files: Digests) -> None:
    """An error where a file is not as it was written.

    Other words in as many rows would fit the weights, and would be read as if they were right.
    """
    for name, written in files.items():
        if not exists(path / name):
            raise ModelError(f"the model in {path} is damaged: {name} is missing; put back a sound copy of it")
        if file_digest(path / name) != written:
            raise ModelError(f"{path / name} is damaged: it is not as it was written; put back a sound copy of it")


def hub_id(path: Path) -> str:
    """The id of the model on the Hugging Face hub whose folder in the hub's cache this is; empty for other folders.

    >>> hub_id(Path("hub/models--ada--ner/snapshots/6f2c9d"))
    'ada/ner'
    """
    repository = path.absolute().parent.parent.name
    is_cached = path.absolute().parent.name == "snapshots" and repository.startswith("models--")
    return repository.removeprefix("models--").replace("--", "/", 1) if is_cached else ""


def refuse_hub_cache(path: Path) -> None:
    """Refuse to write to the cache of the hub: it is shared, and the next revision would be without the change."""
    if id := hub_id(path):
        raise ModelError(
            f"{id} is in the cache of the Hugging Face hub, where nothing is changed: make a copy of your own first, "
            f"by `hf download {id}` to a local folder, or by `model.save(folder)` from Python"
        )


def _refuse_strays(path: Path, files: Digests, earlier: Collection[str]) -> None:
    """Refuse to write among files that are no model's: they may be a pretrained encoder, with files of these names."""
    if not any(name.startswith(f"{ENCODER}/") for name in files):
        return
    for file in visible_files(path / ENCODER):
        if file.relative_to(path).as_posix() not in {*files, *earlier}:
            raise ModelError(f"{file} is no part of a model, and the model's own files go there: move it elsewhere")


def visible_files(folder: Path) -> Iterator[Path]:
    """All that is in a folder, and in those in it, but the hidden files that systems leave."""
    for file in folder.rglob("*"):
        if not file.is_dir() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file


def vocabulary_file(name: str) -> str:
    """The name of a vocabulary's file in the model folder."""
    return f"{VOCABULARIES}/{name}.json"


def read_vocabulary(path: Path, name: str, files: Digests) -> Any:
    """The content of a vocabulary that the config names."""
    file = path / vocabulary_file(name)
    if vocabulary_file(name) not in files:
        raise ModelError(f"{path / CONFIG} is damaged: [model.files] does not name {vocabulary_file(name)}")
    try:
        with open_regular(file) as stream:
            return json.loads(stream.read().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is damaged: {first_line(error)}") from error


def read_config(path: Path) -> dict[str, Any]:
    """The content of a `config.toml`."""
    try:
        with open_regular(path) as file:
            config = tomllib.load(file)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {first_line(error)}") from error
    if not isinstance(head := config.get("model"), dict) or "nearspan" not in head:
        raise ModelError(
            f"{path} is damaged, or not a nearspan model's: it does not say `nearspan = {FORMAT}` in [model]"
        )
    return config
