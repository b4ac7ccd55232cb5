import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, jsonl, read, write
from nearspan.formats.corpus import clean_label
from nearspan.formats.files import read_source
from nearspan.formats.json_records import PlainRecord, read_record
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source


def read_corpus(*records: Any) -> Corpus:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return read_source(Source(Path("news.jsonl"), "\n".join(lines)), "jsonl")


def kinds(*records: Any) -> list[tuple[str, int]]:
    return [(problem.kind, problem.line) for problem in read_corpus(*records).problems]


def with_entity(**entity: Any) -> dict[str, Any]:
    return {"text": "pain in legs", "entities": [{"label": "S", **entity}]}


def test_a_file_holds_documents_in_the_shape_of_to_dict(tmp_path: Path):
    entities = (Entity.of(0, 4, "S", 0.25), Entity(Span(((0, 4), (8, 12))), "S"))
    documents = [Document("pain in legs", entities, "1", ((0, 4), (5, 7), (8, 12))), Document("none", id="2")]
    write(documents, tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [document.to_dict() for document in documents]
    assert [document.to_dict() for document in read(tmp_path / "out.jsonl")] == list(map(json.loads, lines))


def test_the_short_form_that_one_writes_by_hand():
    [document] = read_corpus(
        {
            "id": "1",
            "text": "pain in legs",
            "entities": [
                {"start": 0, "end": 4, "label": "S"},
                {"fragments": [[0, 4], [8, 12]], "label": "S", "score": 0.5},
            ],
            "words": [[0, 4], [5, 7], [8, 12]],
            "sentences": [[0, 12]],
        }
    )
    assert document == Document(
        "pain in legs",
        (Entity.of(0, 4, "S"), Entity(Span(((0, 4), (8, 12))), "S")),
        "1",
        ((0, 4), (5, 7), (8, 12)),
        ((0, 12),),
    )
    assert document.entities[1].score == 0.5


def test_words_with_half_open_indexes():
    [document] = read_corpus({"tokens": ["Ada", "Lovelace", "wrote"], "entities": [[0, 2, "PER"]]})
    assert render(document) == "[Ada Lovelace](PER) wrote"
    assert document.words == ((0, 3), (4, 12), (13, 18))
    assert document.sentences == ((0, 18),)


def test_words_with_lists_of_indexes():
    ner = [{"index": [0, 1, 3], "type": "S"}, {"index": [2], "type": "PART"}]
    [document] = read_corpus({"sentence": ["pain", "in", "arms", "legs"], "ner": ner})
    assert render(document) == "[pain in](S#1) [arms](PART) [legs](S#1)"


def test_character_spans_with_the_keys_of_harem():
    entity = {"entity_id": "0", "text": "Ada", "label": "PESSOA", "start_offset": 0, "end_offset": 3}
    [document] = read_corpus({"doc_id": "H1", "doc_text": "Ada dorme", "entities": [entity]})
    assert (document.id, render(document)) == ("H1", "[Ada](PESSOA) dorme")


def test_an_array_in_one_file():
    corpus = read_corpus('[{"text": "a"},\n {"text": "b", "entities": [[0, 9, "X"]]}]')
    assert [document.text for document in corpus] == ["a", "b"]
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("out of range", 2)]


def test_documents_without_id_are_numbered():
    assert [document.id for document in read_corpus({"text": "a"}, {"text": "b"})] == [
        "news.jsonl#1",
        "news.jsonl#2",
    ]


@pytest.mark.parametrize(
    ("entity", "kind"),
    [
        ({"start": 4, "end": 0}, "inverted"),
        ({"start": 4, "end": 4}, "empty"),
        ({"start": 8, "end": 13}, "out of range"),
        ({"start": -1, "end": 4}, "out of range"),
        ({"start": "0", "end": 4}, "malformed"),
        ({"start": 0.0, "end": 4}, "malformed"),
        ({"start": True, "end": 4}, "malformed"),
        ({"start": 0}, "malformed"),
        ({"start": 0, "end": 4, "label": 3}, "malformed"),
        ({"start": 0, "end": 4, "label": " "}, "malformed"),
        ({"fragments": []}, "empty"),
        ({"fragments": [[0]]}, "malformed"),
        ({"fragments": "0-4"}, "malformed"),
        ({"fragments": [[0, 4], [8, 99]]}, "out of range"),
    ],
)
def test_an_entity_that_cannot_be_is_listed_and_left_out(entity: dict[str, Any], kind: str):
    corpus = read_corpus({"text": "first"}, with_entity(**entity))
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [(kind, 2)]
    assert [document.entities for document in corpus] == [(), ()]


def test_a_text_that_differs_from_the_offsets_is_listed_and_kept():
    corpus = read_corpus(with_entity(start=0, end=4, text="legs"))
    assert [problem.kind for problem in corpus.problems] == ["misaligned"]
    assert len(corpus.documents[0].entities) == 1


@pytest.mark.parametrize("where", [{"start": 0, "end": 1}, {"index": [0]}])
def test_a_text_that_differs_from_the_words_is_listed_and_kept(where: dict[str, Any]):
    corpus = read_corpus(
        {"tokens": ["Ada", "Lovelace"], "entities": [{"label": "PER", "text": "Ada Lovelace", **where}]}
    )
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("misaligned", 1)]
    assert [render(document) for document in corpus] == ["[Ada](PER) Lovelace"]


def test_a_text_may_have_other_blanks_than_those_between_words():
    words = ["Ada", "'s", "pain", "in", "legs"]
    entities = [
        {"start": 0, "end": 2, "label": "X", "text": "Ada's"},
        {"index": [2, 4], "label": "X", "text": "pain legs"},
    ]
    assert kinds({"tokens": words, "entities": entities}) == []


def test_the_score_of_an_entity_of_words_is_kept():
    corpus = read_corpus({"tokens": ["Ada"], "entities": [{"start": 0, "end": 1, "label": "PER", "score": 0.5}]})
    assert [entity.score for entity in corpus.documents[0].entities] == [0.5]
    [problem] = read_corpus({"tokens": ["Ada"], "entities": [{"index": [0], "label": "PER", "score": "high"}]}).problems
    assert problem.message.startswith("the score is not a finite number")


def test_the_same_entity_twice_is_listed_and_kept_once():
    corpus = read_corpus({"text": "Oslo", "entities": [[0, 4, "LOC"], [0, 4, "LOC"]]})
    assert [problem.kind for problem in corpus.problems] == ["duplicate"]
    assert len(corpus.documents[0].entities) == 1


def test_overlapping_fragments_are_joined_and_listed():
    corpus = read_corpus(with_entity(fragments=[[0, 4], [2, 7]]))
    assert corpus.documents[0].entities == (Entity.of(0, 7, "S"),)
    assert [problem.kind for problem in corpus.problems] == ["malformed"]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"tokens": ["a", "b"], "entities": [[1, 0, "X"]]}, "inverted"),
        ({"tokens": ["a", "b"], "entities": [[1, 1, "X"]]}, "empty"),
        ({"tokens": ["a", "b"], "entities": [[1, 3, "X"]]}, "out of range"),
        ({"tokens": ["a", "b"], "entities": [[0, "1", "X"]]}, "malformed"),
        ({"tokens": ["a", "b"], "entities": [[0, 1, "X"], [0, 1, "X"]]}, "duplicate"),
        ({"tokens": ["a", ""], "entities": []}, "empty"),
        ({"tokens": ["a", "b"]}, "malformed"),
        ({"tokens": ["a", 1], "entities": []}, "malformed"),
        ({"tokens": "a b", "entities": []}, "malformed"),
        ({"sentence": ["a"], "ner": [{"index": [1], "type": "X"}]}, "out of range"),
        ({"sentence": ["a"], "ner": [{"index": [], "type": "X"}]}, "empty"),
        ({"sentence": ["a"], "ner": [{"index": [0.5], "type": "X"}]}, "malformed"),
        ({"sentence": ["a"], "ner": [{"index": [0]}]}, "malformed"),
        ({"text": 3}, "malformed"),
        ({"text": "a", "entities": {}}, "malformed"),
        ({"text": "a", "annotations": [{"from": 0}]}, "malformed"),
        ({"text": "a", "words": [[0, 9]]}, "malformed"),
        ({"text": "ab", "words": [[1, 2], [0, 1]]}, "malformed"),
        ({"body": "a"}, "malformed"),
        ({}, "malformed"),
        ([1], "malformed"),
        ("null", "malformed"),
        ('{"text": "a"', "malformed"),
        ("[" * 100_000, "malformed"),
        ('{"a":' * 100_000, "malformed"),
        ('{"text": "a", "entities": [[0, ' + "9" * 5000 + ', "X"]]}', "malformed"),
    ],
)
def test_wrong_records_are_listed_with_their_line(record: Any, kind: str):
    assert kinds({"text": "first"}, record) == [(kind, 2)]


@pytest.mark.parametrize("score", ["1" + "0" * 400, "NaN", "Infinity", "-Infinity", "1e999", '"high"', "true"])
def test_a_score_that_is_no_finite_number_is_listed_and_the_entity_read_without_it(score: str):
    corpus = read_corpus(f'{{"text": "Ada", "entities": [{{"start": 0, "end": 3, "label": "P", "score": {score}}}]}}')
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 1)]
    assert [entity.score for entity in corpus.documents[0].entities] == [None]


@pytest.mark.parametrize(
    "record",
    [
        '{"text": "Ada", "entities": [], "spans": [[0, 3, "P"]]}',
        '{"text": "Ada", "entities": [[0, 3, "P"]], "ner": [[0, 2, "P"]]}',
        '{"text": "Ada", "doc_text": "Eve", "entities": []}',
        '{"tokens": ["Ada"], "sentence": ["Eve"], "ner": []}',
    ],
)
def test_a_second_key_that_says_otherwise_is_listed(record: str):
    [problem] = read_corpus({"text": "first"}, record).problems
    assert (problem.kind, problem.line) == ("malformed", 2)
    assert "not read" in problem.message


@pytest.mark.parametrize(
    "record",
    [
        {"text": "Ada wrote", "annotations": {"entities": [{"start": 0, "end": 3, "label": "PER"}]}},
        {"text": "Ada wrote", "tags": ["B-PER", "O"]},
        {"text": "Ada wrote", "gold": {"tags": ["B-PER", "O"]}},
        {"text": "Ada wrote", "entities": [], "tags": ["B-PER", "O"]},
        {"text": "Ada wrote", "entities": None, "tags": ["B-PER", "O"]},
        {"text": "Ada wrote", "entities": [], "annotations": [[0, 3, "PER"]]},
        {"text": "Ada wrote", "entities": [[4, 9, "V"]], "mentions": [{"start": 0, "end": 3, "label": "PER"}]},
        {"text": "Ada wrote", "annotation": {"start": 0, "end": 3, "label": "PER"}},
        {"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]},
        {"tokens": ["Ada", "wrote"], "entities": [], "ner_tags": ["B-PER", "O"]},
        {"tokens": ["Ada", "wrote"], "entities": [], "labels": ["B-PER", "O"]},
        {"tokens": ["Ada", "wrote"], "entities": [[0, 2, "PER"]], "ner_tags": ["B-PER", "O"]},
        {"tokens": ["Ada", "wrote", "it"], "entities": [], "ner_tags": ["B-PER", "0", "O"]},
    ],
)
def test_annotations_in_a_key_that_is_not_read_are_listed(record: Any):
    [problem] = read_corpus({"text": "first"}, record).problems
    assert (problem.kind, problem.line) == ("malformed", 2)
    assert "not read" in problem.message


@pytest.mark.parametrize(
    "record",
    [
        {"tokens": ["Ada", "wrote"], "entities": [[0, 1, "PER"], [0, 2, "X"]], "ner_tags": ["B-PER", "O"]},
        {"text": "Ada", "words": [[0, 3]], "entities": [[0, 3, "PER"]], "tags": ["B-PER"]},
        {"tokens": ["I-95", "O"], "entities": [], "lemmas": ["I", "be"], "ner_tags": ["O", "O"]},
        {"text": "Ada", "meta": {"source": "news", "topics": ["B"]}, "topics": ["I"]},
    ],
)
def test_tags_that_say_nothing_else_and_lists_of_words_are_not_listed(record: Any):
    assert kinds(record) == []


@pytest.mark.parametrize(
    "entity",
    [
        {"start": 0, "end": 4, "label": "S", "type": "T"},
        {"start": 4, "end": 12, "start_offset": 0, "label": "S"},
        {"start": 0, "end": 4, "end_offset": 5, "label": "S"},
        {"fragments": [[0, 4], [8, 12]], "start": 0, "end": 4, "label": "S"},
        {"fragments": [[0, 4]], "start_offset": 1, "label": "S"},
        {"start": 0, "end": 4, "index": [0, 2], "label": "S"},
    ],
)
def test_an_entity_whose_keys_say_otherwise_is_listed_and_kept(entity: dict[str, Any]):
    corpus = read_corpus({"text": "pain in legs", "entities": [entity]})
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 1)]
    assert repr(entity)[:40] in corpus.problems[0].message
    assert "not read" in corpus.problems[0].message
    assert len(corpus.documents[0].entities) == 1


@pytest.mark.parametrize(
    "entity",
    [
        {"index": [0, 2], "start": 0, "end": 1, "type": "S"},
        {"index": [0], "start": 0, "end": 1, "type": "S", "label": "T"},
        {"start": 0, "end": 1, "fragments": [[0, 1], [2, 3]], "type": "S"},
    ],
)
def test_an_entity_of_words_whose_keys_say_otherwise_is_listed_and_kept(entity: dict[str, Any]):
    corpus = read_corpus({"tokens": ["pain", "in", "legs"], "entities": [entity]})
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 1)]
    assert len(corpus.documents[0].entities) == 1


def test_an_entity_whose_keys_say_the_same_is_not_listed():
    same = {"start": 0, "end": 12, "start_offset": 0, "end_offset": 12, "label": "S", "type": "S", "index": 7}
    assert kinds({"text": "pain in legs", "entities": [{**same, "fragments": [[0, 4], [8, 12]]}]}) == []
    words = {"index": [0, 2], "start": 0, "end": 3, "label": "S"}
    assert kinds({"tokens": ["pain", "in", "legs"], "entities": [words]}) == []


def test_a_second_key_that_says_the_same_or_holds_no_entities_is_not_listed():
    spans = [[0, 3, "P"]]
    assert kinds({"text": "Ada", "entities": spans, "spans": spans, "label": "news", "labels": ["P"]}) == []


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ('{"text": "Ada", "entities": [[0, 3, "P"]], "entities": []}', 1),
        ('[{"text": "a"},\n{"text": "Ada", "entities": [{"start": 0, "end": 3, "label": "P", "label": "Q"}]}]', 2),
    ],
)
def test_a_key_that_is_there_twice_is_listed(record: str, line: int):
    corpus = read_corpus(record)
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", line)]
    assert "more than once" in corpus.problems[0].message


@pytest.mark.parametrize("key", ["text", "doc_text"])
def test_a_text_beside_words_is_listed_as_the_offsets_may_be_of_either(key: str):
    record = {key: "Ada wrote", "tokens": ["Ada", "wrote"], "entities": [[0, 1, "P"]]}
    assert kinds({"text": "first"}, record) == [("malformed", 2)]


def test_a_text_beside_words_is_fine_where_it_is_theirs_and_entities_are_lists_of_indexes():
    ner = [{"index": [0], "type": "P"}]
    assert kinds({"text": "Ada wrote", "sentence": ["Ada", "wrote"], "ner": ner}) == []
    assert kinds({"text": "Ada  wrote", "sentence": ["Ada", "wrote"], "ner": ner}) == [("malformed", 1)]


@pytest.mark.parametrize("id", ["1e400", "-1e400", "NaN", "true", "[1]", "[" * 300 + "]" * 300, '{"a": 1}'])
def test_an_id_that_is_no_string_or_finite_number_is_listed(id: str):
    corpus = read_corpus(f'{{"id": {id}, "text": "Ada", "entities": []}}')
    assert [(document.id, problem.kind) for document in corpus for problem in corpus.problems] == [
        ("news.jsonl#1", "malformed")
    ]


@pytest.mark.parametrize("id", ["12", "12.5", '"12"'])
def test_an_id_may_be_a_number(id: str):
    assert read_corpus(f'{{"id": {id}, "text": "Ada", "entities": []}}')[0].id == id.strip('"')


@pytest.mark.parametrize("key", ["start", "end"])
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "9" * 4000, "-" + "9" * 4000, "9" * 5000])
def test_a_number_without_bounds_is_listed_in_a_short_message(key: str, number: str):
    entity = {"start": "0", "end": "3"} | {key: number}
    corpus = read_corpus(
        '{"text": "first"}', f'{{"text": "Ada", "entities": [[{entity["start"]}, {entity["end"]}, "P"]]}}'
    )
    [problem] = corpus.problems
    assert (problem.line, len(str(problem)) < 300) == (2, True)


def test_a_record_that_is_nested_too_deeply_to_be_looked_at_is_listed(monkeypatch: pytest.MonkeyPatch):
    def look_deeper(record: Any, name: str, source: Source, line: int) -> None:
        source.add_problem("malformed", "one of its entities", line, lost=1)
        raise RecursionError

    monkeypatch.setattr(jsonl, "read_record", look_deeper)
    corpus = read_corpus({"text": "Ada", "entities": [[0, 3, "P"], 7]})
    assert [(problem.line, problem.lost) for problem in corpus.problems] == [(1, 2)]
    assert "nested too deeply" in corpus.problems[0].message


def test_word_indexes_far_out_of_range_are_listed_at_once():
    assert kinds({"tokens": ["a"], "entities": [[0, 10**300, "X"]]}) == [("out of range", 1)]


def test_a_broken_array_says_where_reading_stopped():
    corpus = read_corpus('[{"text": "a"},\n{"text": "b"\n{"text": "c"}]')
    assert len(corpus) == 1
    assert [(problem.kind, problem.line) for problem in corpus.problems] == [("malformed", 2)]
    assert "from here on" in corpus.problems[0].message


@pytest.mark.parametrize("array", ['[{"text": "a"}', '[{"text": "a"}] x', '[{"text": "a"} {"text": "b"}]', "[,]"])
def test_arrays_that_are_not_json_are_listed(array: str):
    assert [problem.kind for problem in read_corpus(array).problems] == ["malformed"]


def test_a_lone_surrogate_is_listed_and_replaced_without_moving_offsets():
    corpus = read_corpus('{"text": "\\ud800 Oslo", "entities": [[2, 6, "LOC"]]}')
    assert corpus.documents[0].text == "\ufffd Oslo"
    assert render(corpus.documents[0]) == "\ufffd [Oslo](LOC)"
    assert [problem.kind for problem in corpus.problems] == ["lone surrogate"]


def test_a_pair_of_escapes_is_one_character():
    corpus = read_corpus('{"text": "\\ud83d\\ude00 Oslo", "entities": [[2, 6, "LOC"]]}')
    assert (corpus.documents[0].text, corpus.problems) == ("\U0001f600 Oslo", ())


def test_a_json_file_is_written_as_an_array(tmp_path: Path):
    write([parse("[Ada](PER)"), parse("b")], tmp_path / "out.json")
    assert len(json.loads((tmp_path / "out.json").read_text())) == 2
    assert len(read(tmp_path / "out.json")) == 2


def test_line_separators_are_escaped(tmp_path: Path):
    write([Document("a\u2028b\u2029c\x85d")], tmp_path / "out.jsonl")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1
    assert read(tmp_path / "out.jsonl").documents[0].text == "a\u2028b\u2029c\x85d"


unicode_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(unicode_text)
    edges = st.lists(st.integers(0, len(text)), min_size=2, max_size=6, unique=True).map(sorted)
    spans = draw(st.lists(edges, max_size=4))
    entities = {
        Entity(
            Span(tuple(zip(points[: len(points) // 2 * 2 : 2], points[1::2], strict=True))),
            draw(unicode_text),
        )
        for points in spans
    }
    words = draw(st.none() | edges)
    offsets = None if words is None else tuple(zip(words[: len(words) // 2 * 2 : 2], words[1::2], strict=True))
    kept = [entity for entity in sorted(entities) if entity.label == clean_label(entity.label)]
    return Document(text, tuple(kept), draw(unicode_text), offsets, draw(st.sampled_from([None, offsets])))


@given(st.lists(annotated(), min_size=1, max_size=3), st.sampled_from(["out.jsonl", "out.json"]))
def test_written_and_read_again_is_equal(tmp_path_factory, documents: list[Document], name: str):
    path = tmp_path_factory.mktemp("jsonl") / name
    write(documents, path)
    again = read(path)
    assert again.documents == tuple(documents)
    assert again.problems == ()


@pytest.mark.parametrize(
    "record",
    [
        {"text": "Ada wrote", "entities": [[0, 3, "P"]], "relations": [[0, 1, "Live_In"]]},
        {"text": "Ada wrote", "entities": [[0, 3, "P"]], "ents": [[0, 3, "P"]]},
    ],
)
def test_relations_and_the_same_entities_under_another_key_are_no_problem(record: Any):
    assert read_corpus(record).problems == ()


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (Entity.of(0, 3, ""), "'d1': the label '' is empty"),
        (Entity.of(0, 3, "PER\u200b"), r"'d1': the label 'PER\\u200b' .* has blanks at its ends"),
        (Entity.of(0, 3, "PER", float("nan")), "'d1': an entity's score is nan, which JSON cannot hold"),
        (Entity.of(0, 3, "PER", float("inf")), "'d1': an entity's score is inf"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, entity: Entity, message: str):
    with pytest.raises(CorpusError, match=message):
        write([Document("Ada", (entity,), id="d1")], tmp_path / "out.jsonl")
    assert not list(tmp_path.iterdir())


def test_attributes_are_written_and_read(tmp_path: Path):
    entity = Entity(Span.of(0, 3), "PER", attributes={"concept": "Q7259", "annotators": ["a", {"b": None}]})
    write([Document("Ada wrote", (entity,))], tmp_path / "a.jsonl")
    assert read(tmp_path / "a.jsonl")[0].entities[0].attributes == entity.attributes


def test_attributes_that_are_no_object_are_listed_and_the_entity_is_kept():
    entity = {"start": 0, "end": 3, "label": "X", "attributes": [1]}
    corpus = read_corpus({"text": "Ada", "entities": [entity]})
    assert corpus.entity_count == 1
    assert "the attributes are no object" in str(corpus.problems[0])


OFFSET = st.integers(-1, 6)
ITEM = st.fixed_dictionaries(
    {"start": OFFSET, "end": OFFSET, "label": st.sampled_from(["PER", "LOC", "", " X", "Y\u200b"])},
    optional={
        "text": st.sampled_from(["A", "Ad", "Ada", None]),
        "score": st.sampled_from([0.5, None, 1, float("nan")]),
        "fragments": st.sampled_from([None, [[0, 1]], [[0, 3]], [[0, 1], [2, 3]]]),
        "note": st.just("?"),
    },
)
RECORDS = st.fixed_dictionaries(
    {"text": st.sampled_from(["Ada", "Ada wrote"]), "entities": st.lists(ITEM, max_size=3)},
    optional={"id": st.sampled_from(["1", 1, None]), "words": st.just([[0, 3]])},
)


@settings(max_examples=500)
@given(RECORDS)
def test_what_is_read_quickly_is_what_is_read_slowly(record: dict[str, Any]):
    quick, slow = Source(Path("a.jsonl"), ""), Source(Path("a.jsonl"), "")
    plain = PlainRecord.of(quick, record, 7, 1)
    if plain is None:
        assert quick.annotations == 0
        return
    draft = read_record(record, "a.jsonl#7", slow, 1)
    assert slow.problems == []
    assert plain.document() == draft.document()
    assert [repr(each) for each in plain.document().entities] == [repr(each) for each in draft.document().entities]
    assert plain.entity_count == quick.annotations == len(record["entities"])


def test_an_ordinary_record_is_read_quickly():
    record = {"id": "1", "text": "Ada", "entities": [{"start": 0, "end": 3, "label": "PER", "text": "Ada"}]}
    assert PlainRecord.of(Source(Path("a"), ""), record, 1, 1) is not None
