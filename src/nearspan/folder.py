"""A saved model is a folder: settings, weights, vocabularies, memory and a model card. No pickle anywhere."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import tomli_w
from safetensors import SafetensorError

from nearspan.assembly import assemble
from nearspan.decoding import Overlap
from nearspan.encoders import Encoder
from nearspan.errors import ConfigError, ModelError, first_line
from nearspan.memory import Memory
from nearspan.memory.journal import clear
from nearspan.memory.store import BASE, found_in
from nearspan.network import Network
from nearspan.objectives import Generators, Vocabulary
from nearspan.paths import is_folder
from nearspan.recipes import Recipe
from nearspan.strings import StringMajority
from nearspan.tensors import digest_of, load_tensors, metadata_of, save_tensors

CONFIG, WEIGHTS, VOCABULARIES, CARD = "config.toml", "model.safetensors", "vocabularies", "README.md"
STRINGS = "strings.json"  # the majority by string, where spans are given
CHECKPOINT = "checkpoint.safetensors"  # of a training under way
GENERATION = "generation.json"  # the words that generators know, where there are any
RECALL = "encoder.recall."
FORMAT = 6


@dataclass(frozen=True)
class Saved:
    """What a model folder holds."""

    recipe: Recipe
    labels: Sequence[str]
    network: Network
    overlap: Overlap
    joined: Overlap  # the level of overlap of discontinuous entities
    memory: Memory | None
    strings: StringMajority | None = None


def save(saved: Saved, path: Path, card: str) -> None:
    """Write a model folder. `config.toml` comes last: a folder that has it is whole."""
    try:
        (path / VOCABULARIES).mkdir(parents=True, exist_ok=True)
        (path / CONFIG).unlink(missing_ok=True)
        saved.network.encoder.save(
            path, lambda name, content: _write_json(path / VOCABULARIES / f"{name}.json", content)
        )
        _write_json(path / VOCABULARIES / "labels.json", list(saved.labels))
        _write_optional(path / VOCABULARIES / GENERATION, _told(saved.network.generators))
        _write_optional(path / VOCABULARIES / STRINGS, saved.strings.as_dict() if saved.strings else None)
        weights = save_weights(saved.network, path)
        clear(path)
        if saved.memory is not None:
            saved.memory.save(path, weights)
        if card:
            (path / CARD).write_text(card, encoding="utf-8")
        joiner = saved.network.joiner
        head = {"nearspan": FORMAT, "overlap": saved.overlap}
        joined: dict[str, Any] = {}
        if joiner is not None:
            joined = {"joined": [saved.labels[number - 1] for number in joiner.labels], "joined_overlap": saved.joined}
        content = tomli_w.dumps({"model": head | joined, "recipe": saved.recipe.model_dump(exclude_none=True)})
        scratch = path / f"{CONFIG}.new"
        scratch.write_text(content, encoding="utf-8")
        scratch.replace(path / CONFIG)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot save the model to {path}: {error}") from error


def save_weights(network: Network, path: Path) -> str:
    """Write the weights in one step, without what the encoder shall recall no more; what they are known by."""
    recall = network.encoder.recall
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
        if (path / CHECKPOINT).exists():
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
        labels = [str(label) for label in _read_json(path / VOCABULARIES / "labels.json")]
        encoder = Encoder.restore(recipe.encoder, path, lambda name: _read_json(path / VOCABULARIES / f"{name}.json"))
        joined = [labels.index(label) + 1 for label in head.get("joined", [])]
        vocabulary = _read_vocabulary(path / VOCABULARIES / GENERATION)
        network = assemble(recipe, encoder, len(labels), vocabulary, joined)
        network.load_state_dict(load_tensors(path / WEIGHTS))
        remembers = remembers and (network.head.uses_memory or any(found_in(path, name).exists() for name in BASE))
        memory = Memory.load(path, weights_of(path), labels, network.max_width, network.typing) if remembers else None
        return Saved(recipe, labels, network, *levels, memory, _read_strings(path / VOCABULARIES / STRINGS))
    except ConfigError as error:
        raise ModelError(str(error)) from error
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        # RuntimeError: weights of other shapes or names than the settings ask for
        raise ModelError(f"the model in {path} is damaged: {first_line(error)}") from error


def _write_optional(path: Path, content: Any) -> None:
    """Write what there is, or remove what an earlier model left."""
    if content is None:
        path.unlink(missing_ok=True)
    else:
        _write_json(path, content)


def _told(generators: Generators | None) -> dict[str, Any] | None:
    if generators is None:
        return None
    return {"words": generators.vocabulary.words, "synonyms": generators.vocabulary.synonyms}


def _read_strings(path: Path) -> StringMajority | None:
    return StringMajority.from_dict(_read_json(path)) if path.exists() else None


def _read_vocabulary(path: Path) -> Vocabulary | None:
    if not path.exists():
        return None
    found = _read_json(path)
    return Vocabulary(tuple(str(word) for word in found["words"]), bool(found["synonyms"]))


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {first_line(error)}") from error


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
