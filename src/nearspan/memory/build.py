"""Building a memory anew, and replacing the one on disk in one step."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from safetensors import SafetensorError

from nearspan.document import Document
from nearspan.errors import EditError, did_you_mean
from nearspan.io.atomic import sync
from nearspan.io.memory_files import NEXT, finish_swap
from nearspan.knn import Datastore
from nearspan.knn.storage import save_datastore
from nearspan.memory.sentences import as_document, by_document
from nearspan.model import Model
from nearspan.model.folder import save_weights
from nearspan.model.network import Network
from nearspan.segment import Coverage


def rebuild(model: Model, datastore: Datastore) -> Datastore:
    """The datastore as it is; where words are recalled no more, with vectors in which they have no part either."""
    word_memory = model.network.encoder.word_memory
    if word_memory is None or word_memory.forgotten_mask is None:
        return datastore
    unit = model.recipe.suggester.unit
    documents = (as_document(sentences, unit) for sentences in by_document(datastore.sentences))
    sentences = [sentence for document in documents for sentence in model.split(document)]
    if [len(sentence) for sentence in sentences] != [len(sentence.words) for sentence in datastore.sentences]:
        raise EditError("sentences would be read in other words than they are remembered in: build from a corpus")
    return datastore.with_vectors(*model.span_vectors(model.encode(sentences)))


def can_have_label(model: Model, label: str) -> bool:
    """Whether a label that a model does not know can be one of its labels from an edit of its memory on."""
    head = model.network.head
    return _is_label(label) and (head.open_labels or not head.uses_datastore)


def _is_label(text: str) -> bool:
    """Whether a text names something: null's name and blanks do not.

    >>> _is_label("DRUG"), _is_label("null"), _is_label(" ")
    (True, False, False)
    """
    return text != "null" and bool(text.strip())


def check_labels(model: Model, labels: Iterable[str], new_labels: bool = True) -> None:
    """Refuse labels that the model does not know and, unless `new_labels` are refused, cannot have."""
    kind = model.recipe.head.kind
    for label in sorted(set(labels) - set(model.labels)):
        if not new_labels:
            raise EditError(f"the model has no label {label!r}; {did_you_mean(label, model.labels[1:])}")
        if not _is_label(label):
            raise EditError(f"{label!r} cannot be a label: it stands for 'no entity'")
        if not can_have_label(model, label):
            raise EditError(f"the model has no label {label!r}, and its head, {kind!r}, can have no new ones: train it")


def check_label_set(model: Model, labels: Sequence[str]) -> None:
    """Refuse to put a model onto another label set that has weights for its labels."""
    if not labels:
        raise EditError("the documents of `labels_from` have no entity, so there is no label to take")
    kept = f"the {model.recipe.head.kind} head" if not model.network.head.open_labels else ""
    kept = kept or ("what links fragments" if model.network.fragment_linker is not None else "")
    if kept:
        raise EditError(
            f"{kept} has weights for the labels {', '.join(model.trained_labels)}, so others cannot take their place: "
            "leave out `labels_from`, and labels of the documents are added to these"
        )
    check_labels(model, labels)


def build(
    model: Model, documents: Iterable[Document], labels: Sequence[str] | None = None, new_labels: bool = True
) -> tuple[Coverage, Datastore]:
    """A datastore of documents, which the model has from now on, and what of them could not be reached.

    `labels` take the place of the model's own.
    """
    labelled = model.label_documents(documents)
    used = {gold.label for entities in labelled.entities for gold in entities}
    check_labels(model, used.difference(labels or ()), new_labels)
    if not labelled.sentences:
        raise EditError("the documents hold no words, so there is nothing to remember")
    return labelled.coverage, model.build_datastore(labelled, labels=labels)


def erase_forgotten_words(folder: Path, network: Network) -> None:
    """Erase what the encoder of a folder's model recalls no more; only after the memory that says so is in its place.

    Until then an undo may bring it back. A crash before this leaves it for the next time: it is masked already.
    """
    word_memory = network.encoder.word_memory
    if word_memory is None or word_memory.forgotten_mask is None:
        return
    try:
        save_weights(network, folder)
    except (OSError, SafetensorError) as error:
        raise EditError(f"cannot write the weights to {folder}: {error}; build the memory again") from error
    sync(folder)


def replace_memory(folder: Path, datastore: Datastore, weights: str) -> None:
    """Write a memory with an empty journal in place of what the folder has; only while its journal is locked.

    The new files are whole in a folder of their own before its renaming makes them count. They are then moved one by
    one; until a file has moved, readers find it in that folder.
    """
    scratch = folder / f".{NEXT}"
    shutil.rmtree(scratch, ignore_errors=True)  # what a crash has left
    scratch.mkdir()
    try:
        save_datastore(datastore, scratch, weights, built=True)
        scratch.rename(folder / NEXT)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(scratch, ignore_errors=True)  # it holds text, and room on a full disk
        raise EditError(f"cannot write a memory to {folder}: {error}") from error
    sync(folder)
    finish_swap(folder)
