"""Training steps as CUDA graphs: recorded once for each shape of a batch, and then launched as a whole.

A step over a few sentences is a thousand small kernels, and a GPU is done with each before the host has launched the
next. A recorded step costs the host one launch; it computes the same, and draws the same, as one that is not recorded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from nearspan.encoders import Batch

MOST = 256  # shapes that are recorded; further ones go on without

Backward = Callable[[Batch], Tensor]  # computes the loss of a batch, and the gradients of the weights from it
Replay = Callable[[], None]
Capture = Callable[[Callable[[], Tensor]], tuple[Tensor, Replay]]


@dataclass(frozen=True)
class Recording:
    """A recorded step: it reads `batch`, and leaves its loss and gradients where they were when it was recorded."""

    batch: Batch
    loss: Tensor
    gradients: list[Tensor | None]
    replay: Replay


class StepGraphs:
    """Gives the loss and gradients of batches as `backward` does, from recordings where there are any.

    graphs = StepGraphs(list(network.parameters()), backward)
    loss = graphs(corpus.batch(ids))

    All that `backward` reads of a batch has to be its rows and mask, and it must not wait for the device.
    """

    def __init__(self, weights: Sequence[nn.Parameter], backward: Backward, capture: Capture | None = None) -> None:
        self.weights = weights
        self.backward = backward
        self.capture = capture or CudaCapture()
        self.recordings: dict[torch.Size, Recording | None] = {}  # none yet for a shape that came once

    def __call__(self, batch: Batch) -> Tensor:
        """The loss of a batch; each weight's `grad` is its gradient then."""
        shape = batch.rows.shape
        if shape not in self.recordings:  # libraries choose and prepare their kernels in a step that is not recorded
            if len(self.recordings) < MOST:
                self.recordings[shape] = None
            return self.backward(batch)
        recording = self.recordings[shape]
        if recording is None:
            kept = replace(batch, rows=batch.rows.clone(), mask=batch.mask.clone())  # their content may change later
            loss, replay = self.capture(lambda: self.backward(kept))
            gradients = [weight.grad for weight in self.weights]
            recording = self.recordings[shape] = Recording(kept, loss, gradients, replay)
        recording.batch.rows.copy_(batch.rows)
        recording.batch.mask.copy_(batch.mask)
        recording.replay()
        for weight, gradient in zip(self.weights, recording.gradients, strict=True):
            weight.grad = gradient
        return recording.loss


class CudaCapture:
    """Records what a function launches, without running it: where its result will be, and what runs it."""

    def __init__(self) -> None:
        self.pool: Any = None  # memory that all recordings share: what one leaves is used before the next one runs

    def __call__(self, compute: Callable[[], Tensor]) -> tuple[Tensor, Replay]:
        """Record `compute`."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            result = compute()
        self.pool = graph.pool()
        return result, graph.replay
