from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import Corpus, read, write
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]
DRUG = replace(Entity.of(0, 7, "DRUG"), score=0.25, attributes={"identifier": ["MESH:1", 2]})
DOCUMENTS = (
    replace(parse('Aspirin, "so";\tfor\r\n [pain in](S#1) arms and [legs](S#1)'), id="7", words=((0, 7),)),
    Document("", id="none"),
)
DOCUMENTS = (DOCUMENTS[0].with_entities([DRUG, *DOCUMENTS[0].entities]), DOCUMENTS[1])


@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_a_row_for_each_text_loses_nothing(tmp_path: Path, name: str):
    path = tmp_path / "out.csv"
    assert write(DOCUMENTS, path, name) == ()
    again = read(path)
    assert (again.format, again.documents, again.problems) == (name, DOCUMENTS, ())
    assert again.documents[0].entities[0].to_dict() == DOCUMENTS[0].entities[0].to_dict()


def test_a_row_for_each_entity_with_the_text_beside_the_table(put: Put):
    put("letter.txt", "Ada met Bo")
    put("texts/other.txt", "Oslo")
    rows = 'letter\tT1\tPER\t0\t3\tAda\nletter\tT2\tPER\t8\t10\t"Bo\nother\tT1\tLOC\t0\t4\tOslo\nno\tT1\tLOC\t0\t4\tx\n'
    corpus = read(put("a.tsv", "filename\tmark\tlabel\toff0\toff1\tspan\n" + rows))
    assert corpus.format == "tsv"
    assert [render(document) for document in corpus] == ["[Ada](PER) met [Bo](PER)", "[Oslo](LOC)"]
    assert corpus.documents[0].entities[0].attributes == {"mark": "T1"}
    assert [(problem.kind, problem.line, problem.lost) for problem in corpus.problems] == [
        ("misaligned", 3, 0),
        ("missing text", 5, 1),
    ]


@pytest.mark.parametrize(("start", "end"), [("start_span", "end_span"), ("char_start", "char_end"), ("begin", "end")])
def test_offsets_are_known_by_several_names(put: Put, start: str, end: str):
    put("letter.txt", "Ada met Bo")
    rows = "letter\tPER\t0\t3\tAda\tQ7259\n"
    corpus = read(put("a.tsv", f"filename\tlabel\t{start}\t{end}\ttext\tcode\n" + rows))
    assert render(corpus[0]) == "[Ada](PER) met Bo"
    assert corpus[0].entities[0].attributes == {"code": "Q7259"}


def test_a_row_for_each_entity_with_the_text_in_the_table(put: Put):
    corpus = read(
        put("a.csv", "text;start;end;label;score\nAda met Bo;0;3;PER;0.5\nAda met Bo;8.0;10.0;PER;\nYes;;;;\n")
    )
    assert [render(document) for document in corpus] == ["[Ada](PER) met [Bo](PER)", "Yes"]
    assert [entity.score for entity in corpus.documents[0].entities] == [0.5, None]


@pytest.mark.parametrize("cells", ["x,3,PER", "0,,PER", "0,3,", "3,0,PER", "0,99,PER", "0,3"])
def test_a_wrong_row_is_listed(put: Put, cells: str):
    corpus = read(put("a.csv", f"text,start,end,label\nAda met,0,3,PER\nAda met,{cells}\n"))
    assert (corpus.entity_count, [(problem.line, problem.lost) for problem in corpus.problems]) == (1, [(3, 1)])


def test_a_name_that_leads_out_of_the_folder_is_not_followed(put: Put):
    put("secret.txt", "Ada")
    corpus = read(put("in/a.csv", "document,start,end,label\n../secret,0,3,PER\n"))
    assert (len(corpus), [problem.kind for problem in corpus.problems]) == (0, ["missing text"])


def test_entities_that_are_no_json_are_listed(put: Put):
    corpus = read(put("a.csv", 'text,entities\nAda,"[{""start"": 0, ""end"": 3, ""label"": ""X""}]"\nBo,[x\n'))
    assert (len(corpus), [(problem.line, problem.lost) for problem in corpus.problems]) == (1, [(3, 1)])


def test_a_quote_that_never_ends_is_an_error(put: Put):
    with pytest.raises(CorpusError, match="cannot be read as a table, from line 2 on"):
        read(put("a.csv", 'text,start,end,label\n"Ada,0,3,PER\nBo,0,2,PER\n'))


@pytest.mark.parametrize("content", ["text,label\ngood film,positive\n", "a,b,c\n1,2,3\n"])
def test_other_tables_are_not_taken_for_ours(put: Put, content: str):
    with pytest.raises(CorpusError, match="not clear from its content"):
        read(put("a.csv", content))


def test_a_frame_is_the_inverse_of_to_pandas():
    corpus = Corpus(DOCUMENTS)
    again = Corpus.from_pandas(corpus.to_pandas(), {document.id: document.text for document in corpus})
    assert [(document.id, document.text, document.entities) for document in again] == [
        (document.id, document.text, document.entities) for document in corpus
    ]
    assert [entity.score for entity in again.documents[0].entities] == [0.25, None]


def test_a_frame_with_texts_is_read():
    frame = pandas.DataFrame(
        {
            "document_text": ["Ada met", "Ada met", "Yes"],
            "start": [0, 4, None],
            "end": [3, 7, None],
            "label": ["PER", "X", None],
        }
    )
    assert [render(document) for document in nearspan.read(frame)] == ["[Ada](PER) [met](X)", "Yes"]
    entities = [[{"start": 0, "end": 3, "label": "PER"}]]
    assert nearspan.read(pandas.DataFrame({"text": ["Ada"], "entities": entities})).entity_count == 1


def test_a_frame_of_other_columns_is_an_error():
    with pytest.raises(CorpusError, match="'a', 'b'; expected text and entities"):
        nearspan.read(pandas.DataFrame({"a": [1], "b": [2]}))


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=20)


@given(st.lists(text, min_size=1, max_size=3), st.sampled_from(["csv", "tsv"]))
def test_any_text_comes_back(tmp_path_factory, texts: list[str], name: str):
    path = tmp_path_factory.mktemp("table") / "out.csv"
    entities = [(Entity.of(0, len(text), "X"),) if text else () for text in texts]
    documents = tuple(
        Document(text, parts, f"d{n}") for n, (text, parts) in enumerate(zip(texts, entities, strict=True))
    )
    write(documents, path, name)
    assert read(path, name).documents == documents


def test_fragments_without_an_end_are_not_read(put: Put):
    table = 'document,text,start,end,label,fragments\n1,Ada wrote,0,3,PER,"[[1e999, 3]]"\n'
    assert render(read(put("a.csv", table))[0]) == "[Ada](PER) wrote"


def test_a_column_that_is_there_twice_is_listed(put: Put):
    corpus = read(put("a.csv", "text,start,end,label,label\nAda wrote,0,3,PER,LOC\n"))
    assert render(corpus[0]) == "[Ada](LOC) wrote"
    assert [problem.message for problem in corpus.problems] == [
        "there are 2 columns 'label'; only the last of them is read"
    ]


def test_what_is_lost_is_a_number(put: Put):
    [problem] = read(put("a.csv", "document,start,end,label\nnone,0,3,PER\n")).problems
    assert repr(problem.lost) == "1"
