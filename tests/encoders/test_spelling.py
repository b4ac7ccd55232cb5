"""Learned vectors of words and their spellings."""

import torch

import nearspan
from nearspan.encoders import Encoder, EncoderSettings
from nearspan.encoders.spelling import SpellingSettings, word_forms, word_shape


def sentences(*texts):
    return [sentence for text in texts for sentence in nearspan.segment.split(nearspan.Document(text))]


def encoder(**settings):
    return Encoder.from_corpus(EncoderSettings(spelling=SpellingSettings(**settings)), sentences("Ada sang"))


def test_a_word_is_the_sum_of_the_rows_of_its_forms():
    reader = encoder(size=5, rows=64).eval()
    [corpus] = [reader.prepare(sentences("Ada sang"))]
    spelling = reader.features["spelling"]
    rows = corpus.features["spelling"]["hashed"][corpus.features["spelling"]["rows"]]
    assert rows.shape == (2, len(word_forms("Ada")))
    states = reader(corpus.batch(torch.tensor([0]))).states[0]
    torch.testing.assert_close(states, spelling.table[rows].sum(1))


def test_words_have_the_same_rows_in_any_corpus_also_new_ones():
    reader = encoder(rows=512)
    one, two = (reader.prepare(sentences(text)).features["spelling"] for text in ("Zuzu sang", "sang Zuzu Zuzu"))
    assert one["hashed"][one["rows"]].tolist() == two["hashed"][two["rows"]].tolist()[1::-1]


def test_forms_tell_words_by_case_ends_and_shape():
    shared = set(word_forms("Lübeck")) & set(word_forms("lübeck"))
    assert shared == {"llübeck", "3lüb", "5lübec", "2ck", "4beck"}
    assert word_shape("1,024") == "d,ddd"
    assert word_forms("\ud800")  # a lone surrogate has rows too


def test_it_is_trained_saved_and_loaded_with_nothing_beside_its_weights(tiny, documents, tmp_path):
    run = nearspan.train(tiny("classifier", "encoder.spelling.size=8"), documents, out=tmp_path / "m", device="cpu")
    loaded = nearspan.load(tmp_path / "m", device="cpu")
    assert not (tmp_path / "m" / "vocabularies" / "spelling.json").exists()
    assert torch.equal(
        loaded.network.encoder.features["spelling"].table, run.model.network.encoder.features["spelling"].table
    )
    text = documents[0].text
    assert loaded(text).entities == run.model(text).entities
