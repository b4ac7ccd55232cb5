"""An encoder without padding gives what transformers' own forward gives for each window alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from nearspan.encoders.unpadded import Run, UnpaddedEncoder, _groups

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


@pytest.mark.parametrize("family", ["bert", "mpnet"])
@pytest.mark.parametrize("precision", ["bf16", "int8"])
@torch.no_grad()
def test_other_precisions_read_nearly_the_same(family: str, precision: str, monkeypatch: pytest.MonkeyPatch):
    encoder = encoder_of(family)
    expected, starts = UnpaddedEncoder.of(encoder)(WINDOWS)
    for in_tiles in (True, False):
        monkeypatch.setattr("nearspan.encoders.unpadded.computes_bf16", lambda in_tiles=in_tiles: in_tiles)
        states, begin = UnpaddedEncoder.of(encoder, precision)(WINDOWS)
        assert begin.tolist() == starts.tolist()
        assert 0 < (states.float() - expected).norm() < 0.1 * expected.norm()


@pytest.mark.parametrize("with_bias", [True, False])
def test_windows_of_like_lengths_attend_in_tiles_as_each_does_alone(with_bias: bool):
    torch.manual_seed(0)
    sizes = np.array([3, 5, 16, 17, 40])
    block = SimpleNamespace(heads=2, scale=0.5)
    joint, bias = torch.randn(int(sizes.sum()), 24), torch.randn(2, 48, 48) if with_bias else None
    groups = _groups(sizes, in_tiles=True)
    assert [len(group.mask) for group in groups] == [3, 1, 1]
    attended = [
        group.attend([joint], block, bias[:, : group.length, : group.length] if with_bias else None) for group in groups
    ]
    first, alone = 0, []
    for size in sizes.tolist():
        run = Run(first, first + size, size)
        alone.append(run.attend(joint.chunk(3, dim=1), block, bias[:, :size, :size] if with_bias else None))
        first += size
    torch.testing.assert_close(torch.cat(attended).float(), torch.cat(alone), atol=0.03, rtol=0.03)
