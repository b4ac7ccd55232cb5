"""Building a memory anew, and replacing the one on disk in one step."""

import shutil
from collections.abc import Iterable
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


def check_labels(model: Model, labels: Iterable[str]) -> None:
    """Refuse labels that the model does not know."""
    for label in sorted(set(labels) - set(model.labels[1:])):
        raise EditError(f"the model has no label {label!r}; {did_you_mean(label, model.labels[1:])}")


def build(model: Model, documents: Iterable[Document]) -> tuple[Coverage, Datastore]:
    """A datastore of documents, which the model has from now on, and what of them could not be reached."""
    labelled = model.label_documents(documents)
    check_labels(model, (gold.label for entities in labelled.entities for gold in entities))
    if not labelled.sentences:
        raise EditError("the documents hold no words, so there is nothing to remember")
    return labelled.coverage, model.build_datastore(labelled)


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
