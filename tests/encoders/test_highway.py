"""Highway layers against the formula, word by word."""

import torch

from nearspan.encoders.highway import Highway, HighwaySettings


def test_each_feature_is_carried_on_or_made_anew():
    torch.manual_seed(0)
    module = Highway(HighwaySettings(layers=2), 3)
    for layer in module.layers:
        torch.nn.init.normal_(layer.bias)
    states = torch.randn(2, 4, 3)
    expected = states.clone()
    for layer in module.layers:
        for sentence in expected:
            for word in sentence:
                out = layer.weight @ word + layer.bias
                gate = torch.sigmoid(out[3:])
                word.copy_((gate * out[:3].clamp(min=0) + (1 - gate) * word).detach())
    torch.testing.assert_close(module(states), expected)
