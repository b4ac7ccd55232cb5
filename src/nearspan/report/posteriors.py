"""Posteriors: gold spans in two dimensions before and after the parts that compress them (figure 2 of Nguyen et al.,
2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from nearspan.model import Model
from nearspan.report.projection import project
from nearspan.report.vectors import WordSpan, input_vectors

INPUT, TOLD, COMPRESSED = "input", "z1", "z3"  # the paper's names of the latents


@torch.inference_mode()
def posteriors(
    model: Model, spans: Sequence[WordSpan], projection: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """t-SNE [N, 2] of the representation's vectors and, where a model has them, of z1 and z3.

    z1 is the mean of the reconstruction's latent and z3 that of the bottleneck's. `projection` is the picture of the
    vectors that the head reads: z3 with a bottleneck, else the representation's.
    """
    network = model.network
    found = {INPUT: projection}
    if network.bottleneck is None and network.generators is None:
        return found
    vectors = input_vectors(model, spans)
    if network.bottleneck is not None:
        found = {INPUT: project(vectors.cpu().numpy())}
    if network.generators is not None:
        found[TOLD] = project(network.generators.latent(vectors, "reconstruction").mean.cpu().numpy())
    if network.bottleneck is not None:
        found[COMPRESSED] = projection
    return found
