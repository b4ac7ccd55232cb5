from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearspan.document import Document, Entity, Span
from nearspan.errors import CorpusError
from nearspan.formats import conllu, read, write
from nearspan.formats.markup import parse, render
from nearspan.formats.source import Source

Put = Callable[..., Path]


def rows(*words: str) -> str:
    """Lines of ten columns; each word may have what MISC says after a slash."""
    pairs = (word.partition("/") for word in words)
    return "".join(
        f"{index}\t{form}{chr(9) + '_':s}" + "\t_" * 6 + f"\t{misc or '_'}\n"
        for index, (form, _, misc) in enumerate(pairs, 1)
    )


def test_brackets_of_gum_nest_and_have_attributes(put: Put):
    head = "# newdoc id = GUM_x\n# global.Entity = GRP-etype-infstat-identity\n# text = Ada of Kent, Bo\n"
    words = rows(
        "Ada/Entity=(1-person-new-Ada_Lovelace",
        "of",
        "Kent/Entity=(2-place-giv)1)|SpaceAfter=No",
        ",",
        "Bo/Entity=(3-person)",
    )
    corpus = read(put("a.conllu", head + words))
    [document] = corpus
    assert (corpus.format, document.id, render(document)) == (
        "conllu",
        "GUM_x",
        "[Ada of [Kent](place)](person), [Bo](person)",
    )
    assert document.entities[0].attributes == {"GRP": "1", "infstat": "new", "identity": "Ada_Lovelace"}
    assert corpus.problems == ()


def test_parts_make_a_discontinuous_entity(put: Put):
    head = "# global.Entity = eid-etype\n"
    corpus = read(
        put("a", head + rows("pain/Entity=(e1[1/2]-s", "in/Entity=e1[1/2])", "arms", "legs/Entity=(e1[2/2]-s)"))
    )
    assert render(corpus.documents[0]) == "[pain in](s#1) arms [legs](s#1)"


@pytest.mark.parametrize("misc", ["Entity=(1-person", "Entity=(1[1/2]-person)"])
def test_what_never_closes_is_listed(put: Put, misc: str):
    corpus = read(put("a", "# global.Entity = eid-etype\n" + rows(f"Ada/{misc}")))
    assert [(problem.kind, problem.line, problem.lost) for problem in corpus.problems] == [("malformed", 2, 1)]


def test_what_closes_nothing_is_listed(put: Put):
    corpus = read(put("a", "# global.Entity = eid-etype\n" + rows("Ada/Entity=1)")))
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("malformed", 0)]


def test_words_of_a_multiword_token_stand_for_it(put: Put):
    lines = "1-2\tIm" + "\t_" * 8 + "\n" + rows("in/Entity=(1-place", "dem", "Haus/Entity=1)")
    [document] = read(put("a", "# global.Entity = eid-etype\n" + lines))
    assert (render(document), document.words) == ("[Im Haus](place)", ((0, 2), (3, 7)))


def test_an_entity_on_an_empty_node_is_listed(put: Put):
    lines = rows("met") + "1.1\tnobody" + "\t_" * 7 + "\tEntity=(1-person)\n"
    corpus = read(put("a", "# global.Entity = eid-etype\n" + lines))
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("empty", 1)]


def test_a_sentence_of_empty_nodes_alone_is_none(put: Put):
    corpus = read(put("a", "# newdoc\n# sent_id = 1\n0.1\tnobody" + "\t_" * 8 + "\n\n" + rows("Yes")))
    assert [document.text for document in corpus] == ["Yes"]


def test_universal_ner_has_tags_in_the_third_column(put: Put):
    lines = "# sent_id = 1\n# text = Ada Byron met Bo.\n"
    lines += "1\tAda\tB-PER\t-\tm\n2\tByron\tI-PER\t-\tm\n3\tmet\tO\t-\tm\n4\tBo\tB-PER\t-\tm\n5\t.\tO\t-\tm\n"
    corpus = read(put("en.iob2", lines))
    assert (corpus.format, render(corpus.documents[0])) == ("conllu", "[Ada Byron](PER) met [Bo](PER).")
    assert corpus.problems == ()


def test_a_column_of_tags_is_named_in_the_header(put: Put):
    lines = (
        "# global.columns = ID FORM UPOS X:NE MISC\n1\tAda\tX\tB-PER\tSpaceAfter=No\n2\t,\tX\tO\t_\n3\tx\tX\tQ-X\t_\n"
    )
    corpus = read(put("a.conllup", lines))
    assert render(corpus.documents[0]) == "[Ada](PER), x"
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("unknown tag", 1)]


def test_a_treebank_without_entities_is_read(put: Put):
    corpus = read(put("a", "# newdoc\n# sent_id = 1\n" + rows("Yes", "./SpacesAfter=\\s\\s") + "\n" + rows("No")))
    assert (corpus.format, corpus.documents[0].text) == ("conllu", "Yes .  No")


def test_a_text_that_is_not_the_words_is_listed(put: Put):
    corpus = read(put("a", "# text = Bo left\n" + rows("Ada", "left")))
    assert (corpus.documents[0].text, [problem.kind for problem in corpus.problems]) == ("Ada left", ["misaligned"])


def test_blanks_attributes_and_fragments_are_written(tmp_path: Path):
    document = parse("  [Asp|irin](A-b)'s  [pain](S#1) in\n\nthe [legs](S#1). Yes\t")
    entity = replace(document.entities[0], attributes={"identifier": "a-(b)|c = é"}, score=0.5)
    documents = (replace(document.with_entities([entity, *document.entities[1:]]), id="7"), Document("", id="e"))
    [change] = write(documents, tmp_path / "out.conllu")
    assert change.message == "sentences joined to the one before, as an entity spans both: 1"
    again = read(tmp_path / "out.conllu")
    assert [(doc.id, doc.text, doc.entities) for doc in again] == [
        (doc.id, doc.text, doc.entities) for doc in documents
    ]
    assert (again.documents[0].entities[0].attributes, again.problems) == (entity.attributes, ())


def test_a_word_with_a_tab_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="holds a tab or a line end, which CoNLL-U cannot hold"):
        write([Document("a\tb", words=((0, 3),))], tmp_path / "out.conllu")


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    words = draw(st.lists(st.from_regex(r"[\w#(),.%|=-]{1,5}", fullmatch=True), min_size=1, max_size=8))
    text = "".join(word + draw(st.sampled_from([" ", "  ", "\n", "\u2003"])) for word in words)
    pairs = st.lists(st.integers(0, len(text)), min_size=2, max_size=4, unique=True).map(sorted)
    entities = set()
    for edges in draw(st.lists(pairs, max_size=4)):
        fragments = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if text[a:b] == text[a:b].strip()]
        if fragments:
            entities.add(Entity(Span(tuple(fragments)), draw(st.from_regex(r"[\w-]{1,4}", fullmatch=True))))
    return Document(text, tuple(sorted(entities)), "1")


@given(annotated())
def test_text_and_entities_come_back(tmp_path_factory, document: Document):
    path = tmp_path_factory.mktemp("conllu") / "out.conllu"
    changes = write([document], path)
    told = ("words cut", "sentences joined")  # an entity may end inside a word, or span two sentences
    assert not [change for change in changes if not change.message.startswith(told)]
    [again] = conllu.read(Source(path))
    assert (again.text, again.entities) == (document.text, document.entities)


def test_a_score_that_is_no_finite_number_is_an_attribute(put: Put):
    head = "# global.Entity = GRP-etype-score\n"
    [document] = read(put("a.conllu", head + rows("Ada/Entity=(1-PER-inf)"))).documents
    assert document.entities[0].score is None
    assert document.entities[0].attributes["score"] == "inf"


@pytest.mark.parametrize("between", ["", "\tNNP", "\t_" * 7, "\t_" * 8])
def test_numbered_words_with_a_tag_in_the_last_column_have_entities(put: Put, between: str):
    text = f"# text = Ada wrote\n1\tAda{between}\tB-PER\n2\twrote{between}\tO\n"
    assert render(read(put("a", text))[0]) == "[Ada](PER) wrote"
