"""What is exported: two modules over plain tensors, and the names of their inputs and outputs.

    encoder.onnx   input_ids, attention_mask [windows, pieces] -> states [windows, pieces, layers, size]
    spans.onnx     words [sentences, words, size], spans [spans, 3] -> probabilities [spans, 1 + labels]

A span is its sentence, its first word and the word after its last. A word's state is that of its first piece or the
mean of its pieces', as the recipe says, unless the model has a BiLSTM or other features beside the encoder: then it is
what nearspan makes of them. Behind a sentence all states are 0.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nearspan.encoders import Encoded
from nearspan.heads.softmax import ScoreHead
from nearspan.model import Model
from nearspan.model.network import Network
from nearspan.spans import Candidates

FOLDER = "onnx"  # in the model's own
ENCODER, SPANS, ABOUT = "encoder.onnx", "spans.onnx", "onnx.json"


class EncoderGraph(nn.Module):
    """A pretrained encoder's states, of its last layer or of all."""

    inputs = ("input_ids", "attention_mask")
    output = "states"
    axes = ({0: "windows", 1: "pieces"}, {0: "windows", 1: "pieces"})

    def __init__(self, encoder: Any, all_layers: bool) -> None:
        super().__init__()
        self.encoder, self.all_layers = encoder, all_layers

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """States [windows, pieces, layers, size]."""
        out = self.encoder(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=self.all_layers)
        return torch.stack(out.hidden_states if self.all_layers else [out.last_hidden_state], dim=2)

    @staticmethod
    def example() -> tuple[Tensor, ...]:
        """Inputs of three windows, one of them shorter."""
        ids = torch.arange(3 * 17).view(3, 17) % 11 + 5
        seen = torch.ones_like(ids)
        seen[1, 9:] = 0
        return ids, seen


class SpanGraph(nn.Module):
    """Label probabilities of spans, from the states of their words."""

    inputs = ("words", "spans")
    output = "probabilities"
    axes = ({0: "sentences", 1: "words"}, {0: "spans"})

    def __init__(self, network: Network) -> None:
        super().__init__()
        assert isinstance(network.head, ScoreHead)
        self.representation, self.head = network.representation, network.head
        self.max_width, self.size = network.max_width, network.encoder.size

    def forward(self, words: Tensor, spans: Tensor) -> Tensor:
        """P(y|s) [spans, 1 + labels], null first."""
        sentence, first, stop = spans.unbind(1)
        unused = sentence  # what a representation that reads states alone does not ask for
        candidates = Candidates(sentence, unused, first, stop, unused, unused, self.max_width)
        encoded: Any = Encoded(None, {}, (), words)  # type: ignore[arg-type]
        return self.head.normalise(self.head.scores(self.representation(encoded, candidates).float()))

    def example(self) -> tuple[Tensor, ...]:
        """Inputs of three sentences and five spans."""
        generator = torch.Generator().manual_seed(0)
        words = torch.randn(3, 17, self.size, generator=generator)
        return words, torch.tensor([[0, 0, 1], [0, 3, 5], [1, 2, 3], [2, 16, 17], [2, 0, 2]])


def graphs_of(model: Model) -> dict[str, EncoderGraph | SpanGraph]:
    """The graphs that a model has, by their files: copies in full precision, on the CPU."""
    transformer = model.network.encoder.transformer
    graphs: dict[str, EncoderGraph | SpanGraph] = {}
    if transformer is not None:
        graphs[ENCODER] = EncoderGraph(_plain(transformer.encoder), transformer.all_layers)
    network = model.network
    if isinstance(network.head, ScoreHead) and network.representation.reads_states_alone and network.bottleneck is None:
        graphs[SPANS] = _plain(SpanGraph(network))
    return graphs


def onnx_folder(model: Model) -> Path | None:
    """Where the graphs of a model belong that has a folder."""
    return model.path / FOLDER if model.path is not None else None


def _plain(module: Any) -> Any:
    """A copy whose linear layers are torch's own."""
    module = copy.deepcopy(module).to("cpu").float().eval()
    for part in module.modules():
        if isinstance(part, nn.Linear):
            part.__class__ = nn.Linear
    return module
