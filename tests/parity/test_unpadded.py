"""An encoder without padding gives what transformers' own forward gives for each window alone."""

import numpy as np
import pytest
import torch
import transformers

from nearspan.encoders.unpadded import UnpaddedEncoder

SHAPE = {
    "vocab_size": 30,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
FAMILIES = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**SHAPE)),
    "roberta": lambda: transformers.RobertaModel(transformers.RobertaConfig(**SHAPE)),
    "xlm-roberta": lambda: transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**SHAPE)),
    "camembert": lambda: transformers.CamembertModel(transformers.CamembertConfig(**SHAPE)),
    "ernie": lambda: transformers.ErnieModel(transformers.ErnieConfig(**SHAPE)),
    "electra": lambda: transformers.ElectraModel(transformers.ElectraConfig(**SHAPE, embedding_size=8)),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(dim=12, n_layers=2, n_heads=3, hidden_dim=24, vocab_size=30)
    ),
    "mpnet": lambda: transformers.MPNetModel(transformers.MPNetConfig(**SHAPE)),
}
WINDOWS = [np.array(ids) for ids in ([5, 6, 7], [8, 9], [10, 11, 12], [13, 14, 15, 16, 17], [18, 19])]


def encoder_of(family: str) -> torch.nn.Module:
    """An encoder in which no two weights are equal and attention is not flat."""
    torch.manual_seed(0)
    encoder = FAMILIES[family]().eval()
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return encoder


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_each_window_has_the_states_that_it_has_alone(family: str):
    encoder = encoder_of(family)
    reader = UnpaddedEncoder.of(encoder)
    states, starts = reader(WINDOWS, all_layers=True)  # [pieces, layers, size]
    assert len(states) == sum(map(len, WINDOWS))
    for window, start in zip(WINDOWS, starts, strict=True):
        alone = encoder(input_ids=torch.from_numpy(window)[None], output_hidden_states=True).hidden_states
        expected = torch.stack(alone, dim=2)[0]
        torch.testing.assert_close(states[start : start + len(window)], expected, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_the_last_layer_alone_is_the_last_of_all():
    reader = UnpaddedEncoder.of(encoder_of("bert"))
    last, _ = reader(WINDOWS)
    every, _ = reader(WINDOWS, all_layers=True)
    assert torch.equal(last, every[:, -1:])


def test_an_encoder_with_relative_places_is_read_with_padding():
    config = transformers.DebertaV2Config(**SHAPE, relative_attention=True, pos_att_type=["c2p"])
    assert UnpaddedEncoder.of(transformers.DebertaV2Model(config)) is None
