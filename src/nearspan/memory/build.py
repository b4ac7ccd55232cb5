"""Building a memory anew, and replacing the one on disk in one step."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from safetensors import SafetensorError

from nearspan.document import Document
from nearspan.errors import EditError
from nearspan.io.atomic import sync
from nearspan.knn import Datastore
from nearspan.knn.datastore import BASE, NEXT, SENTENCES, digest
from nearspan.memory.checks import check_labels
from nearspan.memory.journal import begin, settle
from nearspan.memory.sentences import as_document, in_documents
from nearspan.model import Model
from nearspan.model.folder import save_weights
from nearspan.model.network import Network
from nearspan.segment import Coverage


def renewed(model: Model, memory: Datastore) -> Datastore:
    """The memory as it is; where words are recalled no more, with vectors in which they have no part either."""
    recall = model.network.encoder.word_memory
    if recall is None or recall.silent is None:
        return memory
    texts = (as_document(own, model.recipe.suggester.unit) for own in in_documents(memory.sentences))
    sentences = [sentence for document in texts for sentence in model.split(document)]
    if [len(one) for one in sentences] != [len(one.words) for one in memory.sentences]:
        raise EditError("sentences would be read in other words than they are remembered in: build from a corpus")
    return memory.with_vectors(*model.vectors(model.prepare(sentences)))


def filled(model: Model, documents: Iterable[Document]) -> tuple[Coverage, Datastore]:
    """A memory of documents, which the model has from now on, and what of them could not be reached."""
    found = model.labelled(documents)
    check_labels(model, (label for own in found.entities for _, _, label in own))
    check_labels(model, (gold.label for own in found.discontinuous for gold in own))
    if not found.sentences:
        raise EditError("the documents hold no words, so there is nothing to remember")
    return found.coverage, model.remember(found.sentences, found.entities, None, found.discontinuous)


def erase_recalled(folder: Path, network: Network) -> None:
    """Erase what the encoder of a folder's model recalls no more; only after the memory that says so is in its place.

    Until then an undo may bring it back. A crash before this leaves it for the next time: it is silent already.
    """
    if network.encoder.word_memory is None or network.encoder.word_memory.silent is None:
        return
    try:
        save_weights(network, folder)
    except (OSError, SafetensorError) as error:
        raise EditError(f"cannot write the weights to {folder}: {error}; build the memory again") from error
    sync(folder)


def replace_memory(folder: Path, memory: Datastore, weights: str) -> None:
    """Write a memory with an empty journal in place of what the folder has; only while its journal is locked.

    The new files are whole in a folder of their own before its renaming makes them count. They are then moved one by
    one; until a file has moved, readers find it in that folder.
    """
    scratch = folder / f".{NEXT}"
    shutil.rmtree(scratch, ignore_errors=True)  # what a crash has left
    scratch.mkdir()
    try:
        memory.save(scratch, weights)
        for name in BASE:
            sync(scratch / name)
        begin(scratch, digest(scratch / SENTENCES), [])
        scratch.rename(folder / NEXT)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(scratch, ignore_errors=True)  # it holds text, and room on a full disk
        raise EditError(f"cannot write a memory to {folder}: {error}") from error
    sync(folder)
    settle(folder)
