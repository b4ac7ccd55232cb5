"""Word embeddings: which words have rows, which rows learn, and how a word finds its row."""

from pathlib import Path

import pytest
import torch

import nearspan
from nearspan.encoders import EncoderSettings
from nearspan.encoders.encoder import Encoder
from nearspan.encoders.static_vectors import NUMBER, UNKNOWN, StaticVectors, StaticVectorSettings, lookup_forms
from nearspan.segment import split


def sentences(*texts: str):
    return [sentence for text in texts for sentence in split(nearspan.markup(text))]


def embed(module: StaticVectors, text: str) -> torch.Tensor:
    """[words, size] of one sentence, without chance."""
    encoder = Encoder(EncoderSettings(), {"vectors": module}).eval()
    prepared = encoder.prepare(sentences(text))
    return encoder(prepared.batch(torch.tensor([0]))).states[0]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "v.txt"
    path.write_text("the 1 0 0\nof 0 1 0\nbergen 0 0 1\noslo 1 1 0\nAda 1 1 1\n")
    return str(path)


def test_pretrained_words_are_frozen_and_missing_ones_learn(file: str):
    module = StaticVectors.from_corpus(StaticVectorSettings(file=file), sentences("The king of Oslo sailed"), [])
    assert module.vocabulary["trained"] == [UNKNOWN, NUMBER, "king", "sailed"]
    assert "oslo" in module.vocabulary["frozen"]
    assert module.size == 3
    vectors = embed(module, "oslo king Bergen whale")
    assert vectors[0].tolist() == [1, 1, 0]
    assert vectors[1].tolist() == module.trained[2].tolist()
    assert vectors[2].tolist() == [0, 0, 1]  # not in the corpus, but the file has it
    assert vectors[3].tolist() == module.trained[0].tolist()


@pytest.mark.parametrize(("numbers", "rows"), [("one", [1, 1, 1]), ("shape", [2, 2, 4]), ("written", [None, 2, 4])])
def test_numbers_are_one_word_or_a_shape_or_as_they_are_written(tmp_path: Path, numbers: str, rows: list[int | None]):
    (tmp_path / "v.txt").write_text("1996 1 0\nof 0 1\n")
    settings = StaticVectorSettings(file=str(tmp_path / "v.txt"), numbers=numbers)
    module = StaticVectors.from_corpus(settings, sentences("of 1997 and 12"), [])
    trained = ["and"] if numbers == "one" else ["0000", "and", "00"]
    assert module.vocabulary["trained"] == [UNKNOWN, NUMBER, *trained]
    expected = [torch.tensor([1.0, 0.0]) if row is None else module.trained[row] for row in rows]
    assert torch.equal(embed(module, "1996 1998 85"), torch.stack(expected))


def test_a_limit_of_words_keeps_all_forms_in_which_numbers_are_looked_up(tmp_path: Path):
    (tmp_path / "v.txt").write_text("of 0 1\nb52 1 0\nB00 1 1\n")
    for numbers, vector in (("written", [1.0, 0.0]), ("shape", [1.0, 1.0])):
        settings = StaticVectorSettings(file=str(tmp_path / "v.txt"), limit=0, numbers=numbers)
        module = StaticVectors.from_corpus(settings, sentences("of a B52"), [])
        [row] = module.prepare(sentences("B52"))["rows"].tolist()
        assert module.frozen[row - len(module.trained)].tolist() == vector


def test_training_changes_the_trained_rows_only(file: str):
    module = StaticVectors.from_corpus(
        StaticVectorSettings(file=file, singletons=0), sentences("The king of Oslo sailed"), []
    )
    before, fixed = module.trained.detach().clone(), module.frozen.clone()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    embed(module, "the king of oslo").sum().backward()
    optimizer.step()
    assert torch.equal(module.frozen, fixed)
    assert not torch.equal(module.trained[2], before[2])  # king
    assert torch.equal(module.trained[3], before[3])  # sailed was not in the sentence


def test_pretrained_rows_can_be_trained_too(file: str):
    module = StaticVectors.from_corpus(
        StaticVectorSettings(file=file, trainable=True), sentences("The king of Oslo"), []
    )
    assert module.vocabulary["frozen"] == [
        "bergen",
        "Ada",
    ]  # not in training: nothing would train them
    assert sorted(module.pretrained_words) == ["Ada", "bergen", "of", "oslo", "the"]
    assert embed(module, "oslo").tolist() == [[1, 1, 0]]
    embed(module, "oslo").sum().backward()
    assert module.trained.grad is not None
    assert module.trained.grad[module.index["oslo"]].tolist() == [1, 1, 1]


def test_the_limit_still_keeps_the_words_of_all_corpora(file: str):
    module = StaticVectors.from_corpus(StaticVectorSettings(file=file, limit=1), sentences("Oslo"), sentences("Bergen"))
    assert module.vocabulary["frozen"] == ["the", "bergen", "oslo"]


@pytest.mark.parametrize("lower", [True, False])
def test_a_word_that_is_known_as_it_is_written_keeps_its_case(file: str, lower: bool):
    module = StaticVectors.from_corpus(StaticVectorSettings(file=file, lower=lower), sentences("Ada ada"), [])
    vectors = embed(module, "Ada ada")
    assert vectors[0].tolist() == [1, 1, 1]
    assert not torch.equal(vectors[0], vectors[1])


@pytest.mark.parametrize("lower", [True, False])
def test_a_word_that_is_not_is_looked_up_in_lower_case_if_asked(file: str, lower: bool):
    module = StaticVectors.from_corpus(StaticVectorSettings(file=file, lower=lower), sentences("ADA Ada"), [])
    row = module.prepare(sentences("ADA"))["rows"]
    assert (int(row) == module.index["ADA" if not lower else "ada"]) is True


@pytest.mark.parametrize("word", ["7", "1,024.5", "-3", "+0.5", "2010", "٣"])
def test_all_numbers_are_one_word(word: str):
    assert lookup_forms(word, StaticVectorSettings(lower=True))[-1] == NUMBER


@pytest.mark.parametrize("word", ["-", "+", ".", ",", "3rd", "x2", "1-2", "½"])
def test_what_is_no_number_is_itself(word: str):
    assert lookup_forms(word, StaticVectorSettings(lower=True))[-1] == word


def test_numbers_share_a_row():
    module = StaticVectors.from_corpus(StaticVectorSettings(size=3), sentences("in 1984"), [])
    vectors = embed(module, "7 3.5 in")
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.equal(vectors[0], vectors[2])


def test_words_seen_once_are_sometimes_unknown_in_training_and_never_after():
    module = StaticVectors.from_corpus(StaticVectorSettings(size=3, singletons=1.0), sentences("a a b"), [])
    encoder = Encoder(EncoderSettings(), {"vectors": module})
    batch = encoder.prepare(sentences("a b")).batch(torch.tensor([0]))
    states = encoder.train()(batch).states[0]
    assert states.tolist() == [module.trained[module.index["a"]].tolist(), module.trained[0].tolist()]
    assert encoder.eval()(batch).states[0, 1].tolist() == module.trained[module.index["b"]].tolist()


def test_words_with_a_vector_are_never_unknown_in_training(file: str):
    module = StaticVectors.from_corpus(StaticVectorSettings(file=file, singletons=1.0), sentences("oslo"), [])
    encoder = Encoder(EncoderSettings(), {"vectors": module}).train()
    batch = encoder.prepare(sentences("oslo")).batch(torch.tensor([0]))
    assert encoder(batch).states.tolist() == [[[1, 1, 0]]]


def test_a_word_that_is_too_rare_shares_the_unknown_row():
    module = StaticVectors.from_corpus(StaticVectorSettings(size=3, least=2), sentences("a a b"), [])
    assert "a" in module.index
    assert "b" not in module.index


def test_words_that_a_file_lacks_share_the_unknown_row_where_asked(file: str):
    shared = StaticVectors.from_corpus(StaticVectorSettings(file=file, missing="shared"), sentences("oslo a a b"), [])
    assert "oslo" in shared.index
    assert not {"a", "b"} & set(shared.index)
    without_file = StaticVectors.from_corpus(StaticVectorSettings(size=3, missing="shared"), sentences("a b"), [])
    assert {"a", "b"} <= set(without_file.index)


def test_a_sentences_vector_is_the_mean_of_the_vectors_of_the_file_alone(file: str):
    """Footnote 8 of Ouchi et al.: words that GloVe lacks are 0, whatever rows they have learned."""
    texts = ("oslo", "oslo a b", "a b 12")
    vectors = StaticVectors.from_corpus(StaticVectorSettings(file=file), sentences(*texts), [])
    encoder = Encoder(EncoderSettings(), {"vectors": vectors}).eval()
    encoded = encoder(encoder.prepare(sentences(*texts)).batch(torch.tensor([0, 1, 2])))
    expected = [[1, 1, 0, 0], [1 / 3, 1 / 3, 0, 0], [0, 0, 0, 1]]  # the last: no word has a vector
    torch.testing.assert_close(encoder.sentence_vectors(encoded), torch.tensor(expected))
