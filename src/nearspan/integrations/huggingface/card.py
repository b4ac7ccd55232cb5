"""The README.md of a model on the hub: the card that its training wrote, with the metadata that the hub reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearspan.errors import ModelError, first_line
from nearspan.io.memory_files import MANIFEST, Manifest, current_file
from nearspan.io.model_folder import CARD, RESULT
from nearspan.io.paths import exists, open_regular
from nearspan.model.folder import read_card
from nearspan.training.run import HOLDS_TEXT, THIS_FOLDER, card_example

if TYPE_CHECKING:
    from nearspan.model import Model

TAGS = ["nearspan", "named-entity-recognition", "token-classification"]
DATA = {"dev": "the development data", "test": "the test data"}

WITHOUT_MEMORY = """\
The memory of training sentences was left out, so this model predicts without one and gives no evidence. Its
vocabularies hold single words of the training data."""
"""Stands where a card says what a memory holds."""


def hub_card(model: Model, name: str, memory: bool) -> str:
    """A card with its metadata; what a card from the hub or a person has set already, such as a license, is kept."""
    from huggingface_hub import ModelCard

    content = read_card(model) or _short_card(model)
    try:
        card: Any = ModelCard(content if content.startswith("---") else f"---\nlibrary_name: nearspan\n---\n{content}")
    except Exception as error:  # of a YAML reader, or of what the metadata must be
        raise ModelError(f"the metadata of {CARD} cannot be read: {first_line(error)}; mend or remove it") from error
    card.data.library_name = "nearspan"
    card.data.tags = list(dict.fromkeys([*(card.data.tags or []), *TAGS]))
    if card.data.pipeline_tag is None:
        card.data.pipeline_tag = "token-classification"
    results = _recorded_scores(model.path) if model.path is not None else {}
    if eval_results := list(_eval_results(results)):
        card.data.eval_results, card.data.model_name = eval_results, name.rpartition("/")[2]
    text = card.text.replace(card_example(model, THIS_FOLDER), card_example(model, name, memory))
    if not memory:
        text = text.replace(HOLDS_TEXT, WITHOUT_MEMORY)
    elif model.path is not None and _was_edited(model.path):
        text = f"{text.rstrip()}\n\nThe memory was edited after the scores were recorded.\n"
    card.text = f"\n{text.lstrip()}"
    return str(card)


def _short_card(model: Model) -> str:
    labels = ", ".join(model.labels[1:])
    example = card_example(model, THIS_FOLDER)
    return f"# A nearspan model: {model.recipe.name}\n\n- Labels: {labels}\n\n{HOLDS_TEXT}\n\n{example}\n"


def _recorded_scores(folder: Path) -> dict[str, Any]:
    """What the training has measured on each split, from the record that it left beside the model."""
    if not exists(folder / RESULT):
        return {}
    try:
        with open_regular(folder / RESULT) as file:
            record = json.load(file)
        return {split: dict(record[split]) for split in DATA if record.get(split)}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{folder / RESULT} is damaged: {first_line(error)}; mend or remove it") from error


def _eval_results(results: dict[str, Any]) -> Iterator[Any]:
    from huggingface_hub import EvalResult

    for split, scores in results.items():
        for metric in ("f1", "precision", "recall", "accuracy"):
            if metric in scores:
                yield EvalResult(
                    task_type="token-classification",
                    task_name=scores.get("task", "named entity recognition"),
                    dataset_type="unknown",
                    dataset_name=DATA[split],
                    dataset_split=split,
                    metric_type=metric,
                    metric_value=scores[metric],
                )


def _was_edited(folder: Path) -> bool:
    """Whether the memory of a folder is not as the training left it."""
    manifest = current_file(folder, MANIFEST)
    return exists(manifest) and ((known := Manifest.read(manifest)).edits > 0 or known.built)
