"""Characters: a word's vector depends on its spelling and on nothing beside it."""

import pytest
import torch

import nearspan
from nearspan.encoders import EncoderSettings
from nearspan.encoders.character_cnn import CharacterCNN, CharacterCNNSettings
from nearspan.encoders.encoder import Encoder
from nearspan.segment import split

LONG = "x" * 500


def sentences(*texts: str):
    return [sentence for text in texts for sentence in split(nearspan.markup(text))]


def build_encoder(**settings) -> Encoder:
    torch.manual_seed(0)
    module = CharacterCNN.from_corpus(CharacterCNNSettings(**settings), sentences("Ada lives in Oslo x"), [])
    torch.nn.init.normal_(module.convolution.bias)
    return Encoder(EncoderSettings(), {"characters": module}).eval()


def embed(encoder: Encoder, *texts: str) -> torch.Tensor:
    return encoder(encoder.prepare(sentences(*texts)).batch(torch.arange(len(texts)))).states


@pytest.mark.filterwarnings("ignore:Using padding='same' with even")
@pytest.mark.parametrize("window", [1, 2, 3, 5])
@pytest.mark.parametrize("other", ["a", "in", "extraordinarily", LONG])
def test_padding_never_matters(window: int, other: str):
    encoder = build_encoder(window=window)
    alone = embed(encoder, "Oslo")[0, 0]
    beside = embed(encoder, f"{other} Oslo")[0, 1]
    torch.testing.assert_close(beside, alone)
    below = embed(encoder, f"{other} {other} {other}", "Oslo")[1, 0]
    torch.testing.assert_close(below, alone)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even")
@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_a_vector_is_the_maximum_of_the_convolution_over_the_word(window: int):
    encoder = build_encoder(window=window)
    module = encoder.features["characters"]
    for word in ("i", "Ada", "lives"):
        letters = torch.stack([module.table.weight[module.index[letter]] for letter in word])
        left, right = torch.zeros((window - 1) // 2, 30), torch.zeros(window // 2, 30)
        padded = torch.cat([left, letters, right])
        weight, bias = module.convolution.weight, module.convolution.bias
        steps = [(weight * padded[at : at + window].T).sum((1, 2)) + bias for at in range(len(word))]
        expected = torch.stack(steps).amax(0).clamp(min=0)
        torch.testing.assert_close(embed(encoder, word)[0, 0], expected)


def test_of_a_very_long_word_both_ends_are_read():
    encoder = build_encoder(longest=6)
    long = embed(encoder, "Osl" + LONG + "ivs")[0, 0]
    torch.testing.assert_close(long, embed(encoder, "Oslivs")[0, 0])
    assert encoder.prepare(sentences("i " + LONG)).features["characters"]["spellings"].shape[1] == 6


@pytest.mark.parametrize("longest", [2, 5])
def test_any_longest_is_kept_to(longest: int):
    encoder = build_encoder(longest=longest)
    assert embed(encoder, f"i Oslo {LONG}").isfinite().all()


def test_unseen_characters_share_a_vector():
    encoder = build_encoder()
    vectors = embed(encoder, "Ж Щ A")[0]
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.equal(vectors[0], vectors[2])


def test_a_character_that_a_damaged_vocabulary_has_twice_leads_to_no_row_beyond_the_table():
    module = CharacterCNN(CharacterCNNSettings(), {"characters": ["A", "B", "A"]})
    assert module.table.num_embeddings == 5
    assert max(module.index.values()) < module.table.num_embeddings


def test_the_row_of_padding_stays_zero_in_training():
    encoder = build_encoder().train()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.1)
    embed(encoder, "Oslo in").sum().backward()
    optimizer.step()
    assert encoder.features["characters"].table.weight[0].abs().sum() == 0
