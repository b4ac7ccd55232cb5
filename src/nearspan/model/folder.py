"""A saved model: settings, weights, vocabularies, memory and a model card in one folder. No pickle anywhere."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import tomli_w
from safetensors import SafetensorError

from nearspan.config import Recipe
from nearspan.encoders import Encoder
from nearspan.errors import ConfigError, ModelError, NearspanError, first_line, is_memory_full
from nearspan.io.atomic import replace_file, sync, write_file
from nearspan.io.memory_files import ALL_FILES, clear_memory, current_file
from nearspan.io.model_folder import (
    CALIBRATION,
    CARD,
    CHECKPOINT,
    CONFIG,
    ENCODER,
    FORMAT,
    RESULT,
    WEIGHTS,
    Digests,
    check_files,
    install_files,
    listed_files,
    read_config,
    read_vocabulary,
    refuse_hub_cache,
    staging_folder,
    vocabulary_file,
)
from nearspan.io.paths import exists, is_folder, open_regular
from nearspan.io.tensors import digest_of, load_tensors, metadata_of, save_tensors
from nearspan.knn.storage import save_datastore
from nearspan.losses import Vocabulary
from nearspan.model.build import build_network
from nearspan.model.calibration import Calibration
from nearspan.model.decode import Overlap
from nearspan.model.network import Network
from nearspan.model.thresholds import thresholds_by_label
from nearspan.spans import StringMajority
from nearspan.version import __version__

if TYPE_CHECKING:
    from nearspan.model.model import Model

STRINGS = "strings"  # the majority by string, where spans are given
GENERATORS = "generators"  # the words that generators know, where there are any
WORD_MEMORY = "encoder.word_memory."


def save(model: Model, path: Path, card: str, memory: bool = True) -> None:
    """Write a model folder, with its memory or without. `config.toml` comes last: a folder that has it is whole.

    It goes for good before any other file changes, and all others are on disk for good before it comes: a crash leaves
    the model that was there, none, or the new one.
    """
    refuse_hub_cache(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with staging_folder(path) as staging:
            _stage(model, staging)
            files = install_files(staging, path)
        weights = save_weights(model.network, path)
        clear_memory(path)
        if model.datastore is not None and memory:
            save_datastore(model.datastore, path, weights)
        save_calibration(model, path)
        if card:
            replace_file(path / CARD, [card.encode("utf-8")])
        linker = model.network.fragment_linker
        head: dict[str, Any] = {"nearspan": FORMAT, "overlap": model.trained_overlap, "weights": weights}
        if linker is not None:
            head["linked"] = [model.trained_labels[number - 1] for number in linker.labels]
            head["linked_overlap"] = model.linked_overlap
        recipe = model.recipe.model_dump(exclude_none=True)
        content = {"model": head | {"versions": versions(), "files": files}, "recipe": recipe}
        for place in {path, *((path / name).parent for name in files)}:
            sync(place)
        replace_file(path / CONFIG, [tomli_w.dumps(content).encode("utf-8")])
        sync(path)
    except (OSError, SafetensorError, UnicodeError) as error:
        raise ModelError(f"cannot save the model to {path}: {error}") from error


def save_calibration(model: Model, path: Path) -> None:
    """Write the calibration of a model and its thresholds, or remove the file where it has none."""
    refuse_hub_cache(path)
    if model.calibration is None and not model.thresholds:
        (path / CALIBRATION).unlink(missing_ok=True)
        return
    scores = model.calibration.to_dict() if model.calibration is not None else None
    content = {"weights": weights_id(path), "calibration": scores, "thresholds": model.thresholds}
    write_file(path / CALIBRATION, [json.dumps(content, indent=1, ensure_ascii=False), "\n"])


def _read_calibration(path: Path, labels: list[str], weights: Any) -> dict[str, Any]:
    """The calibration and the thresholds of a model folder, where it has any."""
    file = path / CALIBRATION
    if not file.exists():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        known_by, scores, thresholds = content["weights"], content["calibration"], dict(content["thresholds"])
        calibration = Calibration.from_dict(scores) if scores is not None else None
        thresholds = thresholds_by_label(thresholds, [*labels, *thresholds])  # the memory may have labels of its own
    except (ValueError, KeyError, TypeError, RecursionError, NearspanError) as error:
        raise ModelError(f"{file} is damaged: {first_line(error)}; remove it, and calibrate the model again") from error
    if known_by != weights:
        raise ModelError(f"{file} is of another model: remove it, and calibrate this one")
    return {"calibration": calibration, "thresholds": thresholds}


def save_weights(network: Network, path: Path) -> str:
    """Write the weights in one step, without what the encoder has forgotten; returns what identifies them."""
    memory = network.encoder.word_memory
    erased = memory.masked_buffers() if memory is not None else {}
    weights = network.state_dict() | {f"{WORD_MEMORY}{name}": tensor for name, tensor in erased.items()}
    # words that are recalled no more do not make them other weights: the memory that says so is on disk before
    known_by = digest_of({name: tensor for name, tensor in weights.items() if not name.startswith(WORD_MEMORY)})
    save_tensors(weights, path / WEIGHTS, {"known_by": known_by})
    return known_by


def read_card(model: Model) -> str:
    """The README.md of the folder that a model was loaded from; empty where there is none."""
    file = model.path / CARD if model.path is not None else None
    if file is None or not exists(file):
        return ""
    with open_regular(file) as stream:
        return stream.read().decode("utf-8", errors="replace")


def weights_id(path: Path) -> str:
    """What identifies the weights in a model folder, as it was written with them: a memory belongs to these alone."""
    return metadata_of(path / WEIGHTS)["known_by"]


def has_memory(path: Path) -> bool:
    """Whether a model folder holds files of a memory."""
    return any(current_file(path, name).exists() for name in ALL_FILES)


def read_recipe(path: Path) -> Recipe:
    """The recipe that the model of a folder was trained by."""
    _refuse_other_folders(path)
    with _as_model_errors(path):
        return Recipe.parse(read_config(path / CONFIG).get("recipe", {}), str(path / CONFIG))


def load(path: Path, recipe: Recipe | None = None) -> dict[str, Any]:
    """What makes the model of a folder, without its memory; an error for one that is missing, damaged or foreign.

    A `recipe` of the same parts stands in for the one that the folder has.
    """
    _refuse_other_folders(path)
    with _as_model_errors(path):
        config = read_config(path / CONFIG)
        head = config["model"]
        if head["nearspan"] != FORMAT:
            raise ModelError(f"{path} was written in format {head['nearspan']!r}; this nearspan reads format {FORMAT}")
        files = listed_files(path, head.get("files"))
        check_files(path, files)
    with _as_model_errors(path, head.get("versions")):
        return _read(path, config, files, recipe)


def _read(path: Path, config: dict[str, Any], files: Digests, recipe: Recipe | None) -> dict[str, Any]:
    head = config["model"]
    levels = (head.get("overlap"), head.get("linked_overlap", "any"))
    for level in levels:
        if level not in get_args(Overlap):
            raise ModelError(f"{path / CONFIG}: overlap is {level!r}; known: {', '.join(get_args(Overlap))}")
    recipe = recipe or Recipe.parse(config.get("recipe", {}), str(path / CONFIG))
    labels = [str(label) for label in read_vocabulary(path, "labels", files)]
    encoder = Encoder.from_disk(recipe.encoder, path / ENCODER, lambda name: read_vocabulary(path, name, files))
    linked = [labels.index(label) + 1 for label in head.get("linked", [])]
    generators, strings = (
        read_vocabulary(path, name, files) if vocabulary_file(name) in files else None for name in (GENERATORS, STRINGS)
    )
    vocabulary = Vocabulary.from_dict(generators) if generators is not None else None
    network = build_network(recipe, encoder, len(labels), vocabulary, linked)
    network.load_state_dict(load_tensors(path / WEIGHTS))
    if weights_id(path) != head.get("weights"):
        raise ModelError(f"{path / WEIGHTS} is of another model than {CONFIG}: put back a sound copy of either")
    return {
        "recipe": recipe,
        "labels": labels,
        "network": network,
        "overlap": levels[0],
        "linked_overlap": levels[1],
        "strings": StringMajority.from_dict(strings) if strings is not None else None,
        **_read_calibration(path, labels, head.get("weights")),
    }


def versions() -> dict[str, str]:
    """The versions that a model depends on, as they are here."""
    packages = {name: metadata.version(name) for name in ("torch", "transformers")}
    return {"nearspan": __version__, "python": platform.python_version(), **packages}


# RuntimeError: weights of other shapes or names than the settings ask for; ArithmeticError: 1e400 is read as infinite
DAMAGED = (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, ArithmeticError)


@contextmanager
def _as_model_errors(path: Path, written: Any = None) -> Iterator[None]:
    """Turn what goes wrong into a ModelError, which names the versions that have `written` it if they are others."""
    try:
        yield
    except (ConfigError, ModelError) as error:
        raise ModelError(f"{error}{_other_versions(written)}") from error
    except (*DAMAGED, MemoryError) as error:
        if is_memory_full(error):  # numbers of a damaged folder may ask for any size
            full = "the computer's memory is full: load a smaller model, or close other programs"
            raise ModelError(f"{full} (the model in {path}: {first_line(error)})") from error
        message = f"the model in {path} is damaged: {first_line(error)}{_other_versions(written)}"
        raise ModelError(message) from error


def _other_versions(written: Any) -> str:
    here = versions()
    others = [name for name in here if isinstance(written, dict) and written.get(name, here[name]) != here[name]]
    if not others:
        return ""
    then, now = (", ".join(f"{name} {of[name]}" for name in others) for of in (written, here))
    return f" (it was written with {then}, and this is {now}: load it with those)"


def _refuse_other_folders(path: Path) -> None:
    if not is_folder(path):
        raise ModelError(f"no model folder at {path}: give a folder that a training wrote")
    if not (path / CONFIG).is_file():
        hint = "" if any(path.iterdir()) else " (it is empty)"
        if (path / RESULT).exists():
            hint = " any more: writing it anew was cut off, so put back a copy, or train it again"
        elif (path / CHECKPOINT).exists():
            hint = " yet: its training did not finish: resume it"
        raise ModelError(f"{path} holds no {CONFIG}, so it is not a nearspan model{hint}")


def _stage(model: Model, staging: Path) -> None:
    """Write the vocabularies and what a pretrained encoder needs beside its weights."""
    content: dict[str, Any] = {"labels": list(model.trained_labels)}
    model.network.encoder.save(staging / ENCODER, content.__setitem__)
    if model.network.generators is not None:
        content[GENERATORS] = model.network.generators.vocabulary.to_dict()
    if model.strings is not None:
        content[STRINGS] = model.strings.to_dict()
    for name in content:
        (staging / vocabulary_file(name)).write_text(json.dumps(content[name], ensure_ascii=False), encoding="utf-8")
