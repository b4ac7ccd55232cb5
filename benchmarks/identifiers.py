"""Identifiers by mention: are those that the memory gives better than looking mentions up in a dictionary?

    OMP_NUM_THREADS=1 python benchmarks/identifiers.py MODEL TRAIN GOLD --synonyms synonyms.tsv --out results.jsonl

TRAIN is what the model's memory was built from, GOLD the documents that it is scored on: PubTator files of BC5CDR and
NCBI Disease, whose mentions have concept identifiers. Counted are gold mentions with an identifier; several of one
mention count as a set. Two accuracies are written for each system: `given`, where gold spans and labels are given, and
`found`, of the mentions that the model finds with their spans and labels. The systems:

- `look-up`: the identifier that the mention has most often in TRAIN, whatever its case and blanks are.
- `look-up, then MeSH`: where TRAIN lacks the mention, the concept of the file that has it as a name. A line holds an
  identifier, such as MESH:D001241, and names.
- `memory`: nearspan's, by the spelling of the memory's entities.
- `look-up, MeSH, then memory`: nearspan's where both lack the mention.
- `neighbours` (`--neighbours N`, the first N documents): the same vote by the exact shares that the head's neighbours
  have in the mention's label, given the gold spans. It is why spelling is compared instead.

`seconds` are those of the memory's vote on all mentions given, without the index, which takes `index_seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from many import current_commit

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import NearspanError
from nearspan.evaluation.identifiers import split_identifiers
from nearspan.explain import locate
from nearspan.heads import Query
from nearspan.knn.memory_sentence import folded


def count_texts(documents: Iterable[Document]) -> dict[str, Counter[str]]:
    """The identifiers of each text of training mentions."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entity in (entity for document in documents for entity in document.entities if entity.identifier):
        counts[folded(entity.text)][entity.identifier] += 1
    return counts


def look_up(counts: dict[str, Counter[str]], text: str) -> str:
    """The identifier that a text has most often in training; "" where it has none."""
    return counts[folded(text)].most_common(1)[0][0] if folded(text) in counts else ""


def read_mesh(path: Path) -> dict[str, str]:
    """The MeSH concepts by all their names; of several with a name the first."""
    concepts: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        identifier, *names = line.split("\t")
        if identifier.startswith("MESH:"):
            for name in names:
                concepts.setdefault(folded(name), identifier.removeprefix("MESH:"))
    return concepts


def by_neighbours(model: nearspan.Model, documents: Sequence[Document]) -> dict[tuple[str, Entity], str]:
    """The identifier of most weight among the neighbours of the mention's label, for each gold mention."""
    datastore, network, chosen = model.datastore, model.network.eval(), {}
    assert datastore is not None
    for document in documents:
        sentences = model.split(document)
        questions = []
        for entity in document.entities:
            try:
                questions.append((entity, locate(sentences, entity.span, entity.text, network.rules, True)))
            except NearspanError:  # wider than a candidate, or not of whole words
                chosen[document.id, entity] = ""
        queries: dict[Any, Query] = {}
        for entity, question in questions:
            if question.key not in queries:
                corpus = network.encode([question.window.sentence])
                queries[question.key] = Query(network, corpus.batch(torch.tensor([0])), datastore)
            query = queries[question.key]
            contributions = network.head.contributions(query, question.candidate_rows(query)[0])
            assert contributions is not None
            number = list(datastore.names).index(entity.label)
            own = (datastore.labels[contributions.rows] == number).nonzero().flatten()
            sums = Counter[str]()
            for row, weight in zip(contributions.rows[own].tolist(), contributions.weights[own].tolist(), strict=True):
                if identifier := datastore.identifier_of(row, entity.label):
                    sums[identifier] += weight
            chosen[document.id, entity] = sums.most_common(1)[0][0] if sums else ""
    return chosen


def accuracy(mentions: Sequence[tuple[Entity, str]]) -> dict[str, Any]:
    """How many gold mentions have their identifiers."""
    right = sum(split_identifiers(entity.identifier) == split_identifiers(given) for entity, given in mentions)
    given = [(entity, each) for entity, each in mentions if each]
    among = sum(split_identifiers(entity.identifier) == split_identifiers(each) for entity, each in given)
    return {
        "mentions": len(mentions),
        "accuracy": round(right / max(1, len(mentions)), 4),
        "given_one": round(len(given) / max(1, len(mentions)), 4),
        "right_of_those": round(among / max(1, len(given)), 4),
    }


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--synonyms", type=Path)
    parser.add_argument("--neighbours", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = nearspan.load(given.model, device="cpu")
    gold = nearspan.read(given.gold).documents
    counts = count_texts(nearspan.read(given.train).documents)
    assert model.datastore is not None
    began = time.process_time()
    concepts = model.datastore.concepts
    assert concepts is not None, "the memory has no identifiers: build it from TRAIN"
    index_seconds = time.process_time() - began
    places = [
        (document, entity) for document in gold for entity in dict.fromkeys(document.entities) if entity.identifier
    ]
    began = time.process_time()
    voted = concepts.identify([(entity.text, entity.label) for _, entity in places])
    seconds = time.process_time() - began
    by_memory = {(document.id, entity): each for (document, entity), (each, _) in zip(places, voted, strict=True)}
    systems: dict[str, Callable[[str, Entity], str]] = {
        "look-up": lambda _, entity: look_up(counts, entity.text),
        "memory": lambda id, entity: by_memory[id, entity],
    }
    if given.synonyms:
        mesh = read_mesh(given.synonyms)

        def look_up_both(_: str, entity: Entity) -> str:
            return look_up(counts, entity.text) or mesh.get(folded(entity.text), "")

        systems["look-up, then MeSH"] = look_up_both
        systems["look-up, MeSH, then memory"] = lambda id, entity: look_up_both(id, entity) or by_memory[id, entity]
    about = {
        "model": given.model.name,
        "gold": given.gold.name,
        "names": len(concepts.identifier_of),
        "commit": current_commit(),
        "hardware": f"CPU, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}",
    }

    def write(row: dict[str, Any]) -> None:
        line = json.dumps(about | row)
        print(line, flush=True)
        with given.out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    answers = {
        name: [(document.id, entity, identify(document.id, entity)) for document, entity in places]
        for name, identify in systems.items()
    }
    for name, mentions in answers.items():
        times = {"seconds": round(seconds, 2), "index_seconds": round(index_seconds, 2)} if name == "memory" else {}
        write({"system": name, "given": accuracy([mention[1:] for mention in mentions])} | times)
    if given.neighbours:
        documents = gold[: given.neighbours]
        chosen, some = by_neighbours(model, documents), {document.id for document in documents}
        for name, each in (("neighbours", chosen), ("memory", by_memory)):
            mentions_of = [(entity, each[document.id, entity]) for document, entity in places if document.id in some]
            write({"system": name, "documents": len(documents), "given": accuracy(mentions_of)})
    predicted = list(model.pipe([document.with_entities(()) for document in gold], workers=1))
    found = {(document.id, entity) for document in predicted for entity in document.entities}
    f1 = round(nearspan.score(gold, predicted).f1, 4)
    for name, mentions in answers.items():
        those = [(entity, each) for id, entity, each in mentions if (id, entity) in found]
        write({"system": name, "f1": f1, "found": accuracy(those)})


if __name__ == "__main__":
    main()
