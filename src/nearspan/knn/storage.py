"""A datastore on disk: its sentences as JSON lines, its vectors as safetensors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError

from nearspan.errors import ModelError, first_line
from nearspan.io.atomic import replace_file
from nearspan.io.memory_files import ALL_FILES, SENTENCES, VECTORS, current_file, write_journal
from nearspan.io.model_folder import file_digest
from nearspan.io.paths import open_regular
from nearspan.io.tensors import load_tensors, metadata_of, save_tensors
from nearspan.knn.datastore import Datastore
from nearspan.knn.memory_sentence import MemorySentence
from nearspan.knn.vote import AS_TRAINED, Vote
from nearspan.knn.word_table import WordTable
from nearspan.spans import AllSpans, SpanMetric, WordSums

NO_MEMORY = "fill one with `nearspan memory MODEL build CORPUS`"  # what to do where there is none


def save_datastore(datastore: Datastore, folder: Path, weights: str, built: bool = False) -> None:
    """Write a datastore's files, with an empty journal; when this returns they are on disk for good.

    `weights` identifies the weights that made the vectors: others cannot use them.
    """
    lines = (json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n" for sentence in datastore.sentences)
    replace_file(folder / SENTENCES, (line.encode("utf-8") for line in lines))
    known = {"labels": json.dumps(datastore.own_names, ensure_ascii=False)}
    tensors = {"sentence_vectors": datastore.sentence_vectors}
    if isinstance(datastore.vectors, WordTable):
        words = datastore.vectors.words()
        tensors |= {"begins": words.begins, "steps": words.steps}
    else:
        tensors["spans"] = datastore.vectors
    if datastore.metric is not None:
        tensors |= datastore.metric.to_tensors()
        known["metric"] = json.dumps(datastore.metric.labels, ensure_ascii=False)
    if datastore.forgotten:
        tensors["forgotten"] = torch.tensor(sorted(datastore.forgotten))
    if datastore.vote != AS_TRAINED:
        known["vote"] = json.dumps(datastore.vote.to_dict(), ensure_ascii=False)
    save_tensors(tensors, folder / VECTORS, _provenance(weights, folder / SENTENCES) | known)
    write_journal(folder, built=built)


def load_datastore(folder: Path, weights: str, labels: Sequence[str], suggester: AllSpans) -> Datastore:
    """Read what `save_datastore` wrote for a model with these weights; an error where it was for another.

    `labels` are those that the model was trained with; a memory may have been built with others.
    """
    try:
        sentences = _read_sentences(current_file(folder, SENTENCES))
        _refuse_foreign(folder, weights)
        tensors = load_tensors(current_file(folder, VECTORS))
        metadata = metadata_of(current_file(folder, VECTORS))
        labels = _labels(metadata, labels)
        vote = Vote.from_dict(json.loads(metadata["vote"])) if "vote" in metadata else AS_TRAINED
        by_words = "steps" in tensors
        vectors = WordSums(tensors["begins"], tensors["steps"]) if by_words else tensors["spans"]
        forgotten = frozenset(tensors["forgotten"].tolist()) if "forgotten" in tensors else frozenset()
        datastore = Datastore.of(sentences, labels, suggester, vectors, tensors["sentence_vectors"])
        metric = SpanMetric.from_tensors(tensors, json.loads(metadata.get("metric", "[]")))
        return replace(datastore, forgotten=forgotten, vote=vote, metric=metric)
    except ModelError as error:
        raise ModelError(f"{error}. {_advice(folder)}") from error
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ModelError(f"the memory in {folder} is damaged: {error}. {_advice(folder)}") from error


def _labels(metadata: Mapping[str, str], trained: Sequence[str]) -> Sequence[str]:
    """The labels that a memory was built with."""
    labels = json.loads(metadata["labels"]) if "labels" in metadata else trained
    if not all(isinstance(label, str) for label in labels):
        raise ValueError(f"its labels are {labels!r}")
    return labels


def _read_sentences(path: Path) -> list[MemorySentence]:
    sentences = []
    with open_regular(path) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            sentences.append(MemorySentence.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else first_line(error)
            raise ModelError(f"{path}:{number} is damaged: {reason}") from error
    return sentences


def _refuse_foreign(folder: Path, weights: str) -> None:
    """Refuse vectors that other weights have made, or that are of other sentences."""
    vectors, sentences = current_file(folder, VECTORS), current_file(folder, SENTENCES)
    written, expected = metadata_of(vectors), _provenance(weights, sentences)
    if expected.items() <= written.items():
        return
    if written.get("weights") != weights:
        reason = f"{vectors} was made with other weights than this model's: it is the memory of another training"
    else:
        reason = f"{sentences} is not as it was when {vectors.name} was made of it"
    raise ModelError(reason)


def _advice(folder: Path) -> str:
    return (
        f"Put back the files that belong together, or delete {', '.join(ALL_FILES)} and fill the memory anew with "
        f"`nearspan memory {folder} build CORPUS`"
    )


def _provenance(weights: str, sentences: Path) -> dict[str, str]:
    """What vectors were made of, as it stands beside them."""
    return {"weights": weights, "sentences": file_digest(sentences)}
