"""The files of further formats that `fuzz.py` damages: XML, tables, columns with numbers, and folders.

BioC is written by `bioc`, CAS by cassis, folders of datasets by `datasets`, tables by the module csv, CoNLL-U by
`conllu`; WebAnno TSV, of which no library writes files, by hand.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import fuzz_tools

Damage = Callable[[bytes, Random], bytes]

NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
WEBANNO_HEAD = f"#FORMAT=WebAnno TSV 3.3\n#T_SP={NAMED_ENTITY}|identifier|value\n\n\n"
ESCAPES = str.maketrans({character: "\\" + character for character in "\\[]|_;\t\n*"})

BACKSLASH = str.maketrans({"\\": "\\\\"})


def damage_some(data: bytes, chance: Random, damage: Damage | None) -> bytes:
    return data if damage is None else damage(data, chance)


def to_bioc(documents: list[Any], chance: Random) -> Any:
    """A collection, whose documents have one passage each or one for each half."""
    import bioc

    collection = bioc.BioCCollection()
    for document in documents:
        written = bioc.BioCDocument()
        written.id = document.id
        passage = bioc.BioCPassage()
        passage.offset, passage.text = chance.choice((0, 0, 7)), document.text
        for number, (start, end, label) in enumerate(document.flat()):
            annotation = bioc.BioCAnnotation()
            annotation.id, annotation.text, annotation.infons["type"] = f"T{number}", document.text[start:end], label
            annotation.add_location(bioc.BioCLocation(start + passage.offset, end - start))
            passage.add_annotation(annotation)
        written.add_passage(passage)
        collection.add_document(written)
    return collection


def to_bioc_xml(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    from bioc import biocxml

    text = biocxml.dumps(to_bioc(documents, chance), pretty_print=chance.random() < 0.5)
    return damage_some(text.encode(), chance, damage)


def to_bioc_json(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    from bioc import biocjson

    return damage_some(biocjson.dumps(to_bioc(documents, chance)).encode(), chance, damage)


@cache
def type_system() -> Any:
    import cassis

    return cassis.load_dkpro_core_typesystem()


def to_cas(documents: list[Any]) -> Any:
    """The first document: a CAS has one text."""
    import cassis

    cas = cassis.Cas(typesystem=type_system())
    cas.sofa_string, cas.sofa_mime = documents[0].text, "text/plain"
    kind = type_system().get_type(NAMED_ENTITY)
    for start, end, label in documents[0].flat():
        cas.add(kind(begin=start, end=end, value=label))
    return cas


def to_xmi(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    del documents[1:]
    return damage_some(to_cas(documents).to_xmi().encode(), chance, damage)


def to_cas_json(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    from cassis.typesystem import TypeSystemMode

    del documents[1:]
    text = to_cas(documents).to_json(type_system_mode=TypeSystemMode.MINIMAL)
    return damage_some(text.encode(), chance, damage)


def to_webanno(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    """One text, a sentence for each document; entities have numbers if they are of several words, or all of them."""
    lines, offset, number = [WEBANNO_HEAD.rstrip("\n"), ""], 0, 0
    every = chance.random() < 0.5
    for index, document in enumerate(documents, 1):
        cells = ["_\t_"] * len(document.words)
        for [(first, last)], label in document.entities:
            number += 1
            mark = f"[{number}]" if every or first < last else ""
            cells[first : last + 1] = [f"*{mark}\t{label.translate(ESCAPES)}{mark}"] * (last + 1 - first)
        lines += ["", f"#Text={document.text.translate(BACKSLASH)}"]
        for position, (word, cell) in enumerate(zip(document.words, cells, strict=True), 1):
            size = len(word.encode("utf-16-le")) // 2
            lines.append(f"{index}-{position}\t{offset}-{offset + size}\t{word.translate(BACKSLASH)}\t{cell}\t")
            offset += size + 1
    return damage_some(("\n".join(lines) + "\n").encode(), chance, damage)


def to_conllu(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
    """Sentences with `Entity=` as GUM has it, or with tags under `NER=`, a document each."""
    from conllu import TokenList

    text = "# global.Entity = etype\n"
    as_tags = chance.random() < 0.3
    for document in documents:
        opened, closed = [""] * len(document.words), [""] * len(document.words)
        tags = fuzz_tools.to_rows(document, chance)["ner_tags"]
        for [(first, last)], label in document.entities:
            opened[first] += f"({label.replace(' ', '_')}" + ")" * (first == last)
            closed[last] += f"{label.replace(' ', '_')})" * (first < last)
        rows = []
        for number, word in enumerate(document.words, 1):
            entity = opened[number - 1] + closed[number - 1]
            tag = tags[number - 1].replace(" ", "_")
            misc = {"NER": tag} if as_tags else {"Entity": entity} if entity else None
            values = {"upos": "X", "xpos": None, "feats": None, "head": 0, "deprel": "dep", "deps": None, "misc": misc}
            rows.append({"id": number, "form": word, "lemma": None, **values})
        text += TokenList(rows, metadata={"newdoc id": document.id, "text": document.text}).serialize()
    return damage_some(text.encode(), chance, damage)


def to_table(delimiter: str) -> Callable[[list[Any], Random, Damage | None], bytes]:
    """A row for each text, or one for each entity with its text."""

    def write(documents: list[Any], chance: Random, damage: Damage | None) -> bytes:
        stream = StringIO()
        table = csv.writer(stream, delimiter=delimiter, lineterminator=chance.choice(("\n", "\r\n")))
        if chance.random() < 0.5:
            table.writerow(["id", "text", "entities"])
            for document in documents:
                table.writerow([document.id, document.text, json.dumps(fuzz_tools.spans(document))])
        else:
            table.writerow(["document", "text", "start", "end", "label"])
            for document in documents:
                for start, end, label in document.flat():
                    table.writerow([document.id, document.text, start, end, label])
        return damage_some(stream.getvalue().encode(), chance, damage)

    return write


def to_datasets(documents: list[Any], chance: Random, damage: Damage | None) -> dict[str, bytes]:
    """A folder that `datasets` saved, one of whose files is damaged."""
    import datasets

    datasets.disable_progress_bars()
    rows = [fuzz_tools.to_rows(document, chance) for document in documents]
    dataset = datasets.Dataset.from_list(rows)
    with TemporaryDirectory() as folder:
        dataset.save_to_disk(folder)
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    if damage is not None:
        name = chance.choice(sorted(files))
        files[name] = damage(files[name], chance)
    return files


BINARY: dict[str, Callable[[list[Any], Random, Damage | None], bytes]] = {
    "bioc": to_bioc_xml,
    "bioc-json": to_bioc_json,
    "cas": to_xmi,
    "cas-json": to_cas_json,
    "webanno": to_webanno,
    "conllu": to_conllu,
    "csv": to_table(","),
    "tsv-table": to_table("\t"),
    **fuzz_tools.BINARY,
}
FOLDERS = {"datasets": to_datasets}
SLOW = ("bioc", "cas", "cas-json", "datasets", "parquet", "spacy")
