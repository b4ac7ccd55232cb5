from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nearspan.document import Document, Entity
from nearspan.errors import CorpusError
from nearspan.formats import read, write
from nearspan.formats.markup import parse, render

Put = Callable[..., Path]
HEAD = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=webanno.custom.Drug|dose
#T_CH=de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink|referenceType|referenceRelation
#T_RL=webanno.custom.Meets|kind|BT_webanno.custom.Drug


"""


def test_layers_stacked_annotations_and_those_of_several_words(put: Put):
    lines = (
        "#Text=𝒳 Ada Byron met Bo\n"
        "1-1\t0-2\t𝒳\tX\t_\t_\t_\t_\t_\t_\t_\t\n"
        "1-2\t3-6\tAda\tNNP\tQ7259[1]|*[2]\tPER[1]|FAM\\_X[2]\t_\t*->1-1\tperson[3]\t_\t_\t\n"
        "1-3\t7-12\tByron\tNNP\tQ7259[1]\tPER[1]\t*\t_\t_\tmeets\t1-1\t\n"
        "1-4\t13-16\tmet\t_\t_\t_\t3 mg\t_\t_\t_\t_\t\n"
        "1-5\t17-19\tBo\tNNP\t*\tPER\t_\t_\t_\t_\t_\t\n"
    )
    corpus = read(put("news.tsv", HEAD + lines))
    [document] = corpus
    assert (corpus.format, document.id, document.text) == ("webanno", "news", "𝒳 Ada Byron met Bo")
    assert render(document) == "𝒳 [[Ada](FAM_X) [Byron](Drug)](PER) [met](Drug) [Bo](PER)"
    assert [entity.attributes.to_dict() for entity in document.entities] == [
        {},
        {"identifier": "Q7259"},
        {"layer": "webanno.custom.Drug"},
        {"dose": "3 mg", "layer": "webanno.custom.Drug"},
        {},
    ]
    assert {problem.message for problem in corpus.problems} == {"chains: 1", "relations: 1"}


def test_parts_of_words_and_several_sentences(put: Put):
    lines = (
        "#Text=Haustür zu.\n1-1\t0-7\tHaustür\t_\t_\t_\t_\n1-1.1\t0-4\tHaus\t_\t*\tLOC\t_\n1-2\t8-10\tzu\t_\t_\t_\t_\n"
        "1-3\t10-11\t.\t_\t_\t_\t_\n\n#Text= Bo\n2-1\t13-15\tBo\t_\t*\tPER\t_\n"
    )
    [document] = read(put("news.tsv", HEAD.replace("#T_CH", "#X").replace("#T_RL", "#Y") + lines))
    assert (render(document), document.sentences) == ("[Haus](LOC)tür zu.\n [Bo](PER)", ((0, 11), (12, 15)))


def test_written_and_read_again_is_equal(tmp_path: Path):
    drug = replace(Entity.of(0, 7, "Ch_e|m"), score=0.25, attributes={"dose": "*", "layer": "webanno.custom.Drug"})
    plain = parse(
        "Aspirin 𝒳 \\\\ [breast [can](P)cer](X) [a](L)\n  [second\nthird](Y) [ ](Z#1)a[b](Z#1)".replace(
            "[ ](Z#1)a[b](Z#1)", "x"
        )
    )
    documents = (replace(plain, id="a").with_entities([drug, *plain.entities]), Document("", id="b"))
    assert write(documents, tmp_path / "out", "webanno") == ()
    again = read(tmp_path / "out")
    assert [(document.id, document.text, document.entities) for document in again] == [
        (document.id, document.text, document.entities) for document in documents
    ]
    assert (again.documents[0].entities[0].score, again.problems) == (0.25, ())
    assert again.documents[0].entities[0].attributes == drug.attributes


def test_what_is_not_kept_is_reported(tmp_path: Path):
    document = Document("a. b", sentences=((0, 2), (3, 4)))
    [change] = write([document], tmp_path / "out", "webanno")
    assert change.message.startswith("documents whose blanks")


def test_a_discontinuous_entity_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="is discontinuous"):
        write([parse("[a](X#1) b [c](X#1)")], tmp_path / "out", "webanno")


@pytest.mark.parametrize("line", ["1-x\t0-3\tAda\t_\t_\tPER\t_\n", "Ada\n"])
def test_a_line_that_is_no_word_is_listed(put: Put, line: str):
    corpus = read(put("a.tsv", HEAD + "#Text=Ada\n1-1\t0-3\tAda\t_\t_\tPER\t_\n" + line))
    assert [(problem.kind, problem.lost) for problem in corpus.problems if problem.lost] == [("malformed", 1)]


def test_a_word_that_is_elsewhere_is_listed(put: Put):
    corpus = read(put("a.tsv", HEAD + "#Text=Ada\n1-1\t0-3\tBob\t_\t_\tPER\t_\n"))
    assert "misaligned" in {problem.kind for problem in corpus.problems}


def test_an_id_with_a_folder_called_as_a_file_is_written(tmp_path: Path):
    documents = [Document("Ada", id="x"), Document("Bo", id="x.tsv/b")]
    write(documents, tmp_path / "out", "webanno")
    assert sorted(document.text for document in read(tmp_path / "out")) == ["Ada", "Bo"]
