"""A saved model is a folder: settings, weights, vocabularies, memory and a model card. No pickle anywhere."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import tomli_w
from safetensors import SafetensorError

from nearspan.config import Recipe
from nearspan.encoders import Encoder
from nearspan.errors import ConfigError, ModelError, first_line
from nearspan.io.paths import is_file, is_folder
from nearspan.io.tensors import digest_of, load_tensors, metadata_of, save_tensors
from nearspan.knn import Datastore
from nearspan.knn.datastore import BASE, digest, found_in
from nearspan.losses import Vocabulary
from nearspan.memory.journal import clear
from nearspan.model.build import assemble
from nearspan.model.decode import Overlap
from nearspan.model.network import Network
from nearspan.spans.string_majority import StringMajority

CONFIG, WEIGHTS, CARD = "config.toml", "model.safetensors", "README.md"
VOCABULARIES, ENCODER = "vocabularies", "encoder"
STRINGS = "strings"  # the majority by string, where spans are given
CHECKPOINT, RESULT = "checkpoint.safetensors", "result.json"  # of a training under way, and of one that is finished
GENERATION = "generation"  # the words that generators know, where there are any
RECALL = "encoder.word_memory."
FORMAT = 7

Digests = dict[str, str]  # of files, by their names in the model folder


@dataclass(frozen=True)
class Saved:
    """What a model folder holds."""

    recipe: Recipe
    labels: Sequence[str]
    network: Network
    overlap: Overlap
    joined: Overlap  # the level of overlap of discontinuous entities
    memory: Datastore | None
    strings: StringMajority | None = None


def save(saved: Saved, path: Path, card: str) -> None:
    """Write a model folder. `config.toml` comes last: a folder that has it is whole."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with _room(path) as room:
            _stage(saved, room)
            files = _put(room, path)
        weights = save_weights(saved.network, path)
        clear(path)
        if saved.memory is not None:
            saved.memory.save(path, weights)
        if card:
            (path / CARD).write_text(card, encoding="utf-8")
        joiner = saved.network.fragment_linker
        head: dict[str, Any] = {"nearspan": FORMAT, "overlap": saved.overlap, "weights": weights}
        if joiner is not None:
            head["joined"] = [saved.labels[number - 1] for number in joiner.labels]
            head["joined_overlap"] = saved.joined
        recipe = saved.recipe.model_dump(exclude_none=True)
        scratch = path / f"{CONFIG}.new"
        scratch.write_text(tomli_w.dumps({"model": head | {"files": files}, "recipe": recipe}), encoding="utf-8")
        scratch.replace(path / CONFIG)
    except (OSError, SafetensorError, UnicodeError) as error:
        raise ModelError(f"cannot save the model to {path}: {error}") from error


def save_weights(network: Network, path: Path) -> str:
    """Write the weights in one step, without what the encoder shall recall no more; what they are known by."""
    recall = network.encoder.word_memory
    emptied = recall.emptied() if recall is not None else {}
    weights = network.state_dict() | {f"{RECALL}{name}": tensor for name, tensor in emptied.items()}
    # words that are recalled no more do not make them other weights: the memory that says so is on disk before
    known_by = digest_of({name: tensor for name, tensor in weights.items() if not name.startswith(RECALL)})
    save_tensors(weights, path / WEIGHTS, {"known_by": known_by})
    return known_by


def weights_of(path: Path) -> str:
    """What the weights in a model folder are known by, as it was written with them: a memory belongs to these alone."""
    return metadata_of(path / WEIGHTS)["known_by"]


def load(path: Path, remembers: bool = True) -> Saved:
    """Read a model folder, its memory only if asked; clear errors for one that is missing, damaged or foreign."""
    if not is_folder(path):
        raise ModelError(f"no model folder at {path}: give the folder that `nearspan train --out` wrote")
    if not (path / CONFIG).is_file():
        hint = "" if any(path.iterdir()) else " (it is empty)"
        if (path / RESULT).exists():
            hint = " any more: writing it anew was cut off, so put back a copy, or train it again"
        elif (path / CHECKPOINT).exists():
            hint = " yet: its training did not finish, so run it again with --resume"
        raise ModelError(f"{path} holds no {CONFIG}, so it is not a nearspan model{hint}")
    try:
        config = _read_config(path / CONFIG)
        head = config["model"]
        if head["nearspan"] != FORMAT:
            raise ModelError(f"{path} was written in format {head['nearspan']!r}; this nearspan reads format {FORMAT}")
        levels = (head.get("overlap"), head.get("joined_overlap", "any"))
        for level in levels:
            if level not in get_args(Overlap):
                raise ModelError(f"{path / CONFIG}: overlap is {level!r}; known: {', '.join(get_args(Overlap))}")
        recipe = Recipe.parse(config.get("recipe", {}), str(path / CONFIG))
        files = _named(path, head.get("files"))
        _check(path, files)
        labels = [str(label) for label in _read(path, "labels", files)]
        encoder = Encoder.from_disk(recipe.encoder, path / ENCODER, lambda name: _read(path, name, files))
        joined = [labels.index(label) + 1 for label in head.get("joined", [])]
        words = Vocabulary.from_dict(_read(path, GENERATION, files)) if _file(GENERATION) in files else None
        network = assemble(recipe, encoder, len(labels), words, joined)
        network.load_state_dict(load_tensors(path / WEIGHTS))
        weights = weights_of(path)
        if weights != head.get("weights"):
            raise ModelError(f"{path / WEIGHTS} is of another model than {CONFIG}: put back a sound copy of either")
        remembers = remembers and (network.head.uses_memory or any(found_in(path, name).exists() for name in BASE))
        memory = Datastore.load(path, weights, labels, network.max_width, network.typing) if remembers else None
        strings = StringMajority.from_dict(_read(path, STRINGS, files)) if _file(STRINGS) in files else None
        return Saved(recipe, labels, network, *levels, memory, strings)
    except ConfigError as error:
        raise ModelError(str(error)) from error
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        # RuntimeError: weights of other shapes or names than the settings ask for
        raise ModelError(f"the model in {path} is damaged: {first_line(error)}") from error


@contextmanager
def _room(path: Path) -> Iterator[Path]:
    """A folder in a model folder for files that are to take their places when all are written."""
    room = path / ".files.new"
    shutil.rmtree(room, ignore_errors=True)
    (room / VOCABULARIES).mkdir(parents=True)
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _stage(saved: Saved, room: Path) -> None:
    """Write the vocabularies and what a pretrained encoder needs beside its weights."""
    content: dict[str, Any] = {"labels": list(saved.labels)}
    saved.network.encoder.save(room / ENCODER, content.__setitem__)
    if saved.network.generators is not None:
        content[GENERATION] = saved.network.generators.vocabulary.to_dict()
    if saved.strings is not None:
        content[STRINGS] = saved.strings.to_dict()
    for name in content:
        (room / _file(name)).write_text(json.dumps(content[name], ensure_ascii=False), encoding="utf-8")


def _put(room: Path, path: Path) -> Digests:
    """Move all files to their places; from here on no model is there, and what an earlier one had is gone."""
    files = {file.relative_to(room).as_posix(): digest(file) for file in sorted(room.rglob("*")) if file.is_file()}
    earlier: Digests = {}
    with suppress(OSError, ModelError):
        earlier = _named(path, _read_config(path / CONFIG)["model"].get("files"))
    _refuse_strays(path, files, earlier)
    for name in earlier.keys() - files.keys():
        (path / name).unlink(missing_ok=True)
    (path / CONFIG).unlink(missing_ok=True)
    for name in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (room / name).replace(path / name)
    return files


def _named(path: Path, files: Any) -> Digests:
    """A model's own files, as its config names them."""
    if not isinstance(files, dict) or not all(_is_own(name) for name in files):
        raise ModelError(f"{path / CONFIG} is damaged: [model.files] does not name the files of a model")
    return files


def _is_own(name: str) -> bool:
    first, *others = name.split("/")
    return first in (VOCABULARIES, ENCODER) and bool(others) and not {"", ".", ".."} & {*others} and "\0" not in name


def _check(path: Path, files: Digests) -> None:
    """An error where a file is not as it was written.

    Other words in as many rows would fit the weights, and would be read as if they were right.
    """
    for name, written in files.items():
        if not is_file(path / name):
            raise ModelError(f"the model in {path} is damaged: {name} is missing; put back a sound copy of it")
        if digest(path / name) != written:
            raise ModelError(f"{path / name} is damaged: it is not as it was written; put back a sound copy of it")
    _refuse_strays(path, files)


def _refuse_strays(path: Path, files: Digests, earlier: Collection[str] = ()) -> None:
    """Refuse files beside those of a model's encoder: its library looks for files by name, and would read them."""
    if not any(name.startswith(f"{ENCODER}/") for name in files):
        return
    for file in visible(path / ENCODER):
        if file.relative_to(path).as_posix() not in {*files, *earlier}:
            raise ModelError(f"{file} is no part of the model, but may be read as such: move it out of {ENCODER}/")


def visible(folder: Path) -> Iterator[Path]:
    """All files in a folder but the hidden ones that systems leave."""
    for file in folder.rglob("*"):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file


def _file(name: str) -> str:
    return f"{VOCABULARIES}/{name}.json"


def _read(path: Path, name: str, files: Digests) -> Any:
    file = path / _file(name)
    if _file(name) not in files:
        raise ModelError(f"{path / CONFIG} is damaged: [model.files] does not name {_file(name)}")
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is damaged: {first_line(error)}") from error


def _read_config(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {first_line(error)}") from error
    if not isinstance(head := found.get("model"), dict) or "nearspan" not in head:
        raise ModelError(
            f"{path} is damaged, or not a nearspan model's: it does not say `nearspan = {FORMAT}` in [model]"
        )
    return found
