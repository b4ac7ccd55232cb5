"""Training on one corpus, or on several at once that each have labels of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nearspan.document import Document
from nearspan.errors import CorpusError
from nearspan.formats import Documents, as_documents
from nearspan.training.start import hold_out

Corpora = dict[str, Sequence[Document]]  # by name; one alone has the name ""


def read_corpora(split: Documents | Mapping[str, Documents]) -> Corpora:
    """The documents of a split by the corpus that they are of; the labels of named corpora have the name before them.

    >>> from nearspan import markup
    >>> corpora = read_corpora({"news": [markup("[Oslo](PLACE)")], "novels": [markup("[Kim](HERO)")]})
    >>> [document.entities[0].label for documents in corpora.values() for document in documents]
    ['news/PLACE', 'novels/HERO']
    """
    if not isinstance(split, Mapping):
        return {"": as_documents(split).documents}
    if list(split) == [""]:
        return {"": as_documents(split[""]).documents}
    for name in split:
        if not name or "/" in name:
            raise CorpusError(f"a corpus is named {name!r}: give a name without '/', as it stands before its labels")
    return {name: _prefix_labels(name, as_documents(documents).documents) for name, documents in split.items()}


def all_documents(corpora: Mapping[str, Sequence[Document]]) -> list[Document]:
    """The documents of all corpora."""
    return [document for documents in corpora.values() for document in documents]


def hold_out_of_each(corpora: Corpora, share: float, seed: int) -> tuple[Corpora, list[Document]]:
    """The corpora without a share of each, and that share as development data."""
    parts = {name: hold_out(documents, share, seed) for name, documents in corpora.items()}
    return {name: train for name, (train, _) in parts.items()}, [each for _, dev in parts.values() for each in dev]


def _prefix_labels(name: str, documents: Sequence[Document]) -> list[Document]:
    return [
        replace(
            document,
            entities=tuple(replace(entity, label=f"{name}/{entity.label}") for entity in document.entities),
        )
        for document in documents
    ]
