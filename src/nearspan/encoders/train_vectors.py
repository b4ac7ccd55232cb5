"""Word vectors from documents to a file that `encoder.vectors.file` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nearspan.document import Document
from nearspan.encoders.glove import GloveSettings, GloveVectors, TrainingCallback, fit_glove
from nearspan.io.atomic import write_file
from nearspan.segment import split


def learn_vectors(
    documents: Iterable[Document],
    out: Path | str,
    *,
    settings: GloveSettings | None = None,
    characters: bool = False,
    seed: int = 0,
    watch: TrainingCallback | None = None,
) -> GloveVectors:
    """Learn word vectors from the texts of documents by GloVe and write them to a text file.

    Give training documents alone. Words of test texts that had vectors would tell a model about the very texts it is
    scored on, and its scores would promise more than new texts keep.

        nearspan.learn_vectors(nearspan.read("train.conll").documents, "vectors.txt")
    """
    chosen = settings or GloveSettings()
    sentences = (sentence.tokens for document in documents for sentence in split(document, characters=characters))
    vectors = fit_glove(sentences, chosen, seed, watch)
    write_file(Path(out), _lines(vectors))
    return vectors


def _lines(vectors: GloveVectors) -> Iterator[str]:
    for word, row in zip(vectors.words, vectors.vectors.tolist(), strict=True):
        yield f"{word} {' '.join(f'{value:.5g}' for value in row)}\n"
