"""Building the memory anew where a pretrained encoder recalls words: the vectors that are left are computed again."""

from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import EditError
from nearspan.memory.editor import Editor

SETTINGS = ("encoder.sentence_context=none", "encoder.word_memory.weight=0.5", "encoder.transformer.overlap=4")


def open_editor(recipe, documents: list[Document], folder: Path) -> Editor:
    nearspan.train(recipe, documents, out=folder, device="cpu")
    return Editor.open(folder, "cpu")


@pytest.mark.parametrize("context", [0, 24])
def test_sentences_are_read_in_their_documents_again(encoders, tiny, tmp_path: Path, context: int):
    people = [Entity.of(0, 3, "PERSON"), Entity.of(18, 21, "PERSON")]
    texts = {"a": "Ada went to Oslo. Bob lives in Rome.", "b": "Eve met Ada there. Eve left Rome in the rain."}
    documents = [Document(text, tuple(people[: 2 - (name == "b")]), name) for name, text in texts.items()]
    documents.append(Document("Ada left.", (Entity.of(0, 3, "PERSON"),), "gone"))
    transformer = (f"encoder.transformer.name={encoders['bert']}", f"encoder.transformer.context={context}")
    editor = open_editor(tiny("hire", *SETTINGS, *transformer), documents, tmp_path / "model")
    for _ in range(2):
        editor.add(nearspan.markup("[Bob](PERSON) met [Ada](PERSON)", id="new"))
    editor.forget("gone")
    model, added = editor.model, Document("Bob met Ada", (), "new")
    sentences = [sentence for document in (*documents[:2], added, added) for sentence in model.split(document)]
    expected = model.datastore.with_vectors(*model.span_vectors(model.encode(sentences)))
    editor.build()
    torch.testing.assert_close(model.datastore.rows(slice(None)), expected.rows(slice(None)))


def test_words_that_pieces_do_not_tell_are_asked_for(encoders, tiny, tmp_path: Path):
    odd = Document("AdaBob left", (Entity.of(0, 3, "PERSON"),), "odd", ((0, 3), (3, 6), (7, 11)), ((0, 11),))
    documents = [odd, Document("Ada met Bob", (Entity.of(0, 3, "PERSON"),), "gone")]
    pieces = (f"encoder.transformer.name={encoders['bert']}", "suggester.unit=pieces")
    editor = open_editor(tiny("hire", *SETTINGS, *pieces), documents, tmp_path / "model")
    editor.forget("gone")
    with pytest.raises(EditError, match="build from a corpus"):
        editor.build()
    editor.build([odd])
    assert [sentence.document for sentence in Editor.open(editor.folder, "cpu").sentences()] == ["odd"]
