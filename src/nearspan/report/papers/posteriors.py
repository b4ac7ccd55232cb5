"""Posteriors: gold spans in two dimensions before and after the parts that compress them (figure 2 of Nguyen et al.,
2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from nearspan.model import Model
from nearspan.report.model_access import WordSpan, generators_of, has_bottleneck, input_vectors
from nearspan.report.papers.projection import project

INPUT, RECONSTRUCTION, COMPRESSED = "input", "z1", "z3"  # the paper's names of the latents


@torch.inference_mode()
def posteriors(
    model: Model, spans: Sequence[WordSpan], projection: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """t-SNE [N, 2] of the representation's vectors and, where a model has them, of z1 and z3.

    z1 is the mean of the reconstruction's latent and z3 that of the bottleneck's. `projection` is the picture of the
    vectors that the head reads: z3 with a bottleneck, else the representation's.
    """
    generators, compressed = generators_of(model), has_bottleneck(model)
    if not compressed and generators is None:
        return {INPUT: projection}
    vectors = input_vectors(model, spans)
    pictures = {INPUT: project(vectors.cpu().numpy()) if compressed else projection}
    if generators is not None:
        pictures[RECONSTRUCTION] = project(generators.latent(vectors, "reconstruction").mean.cpu().numpy())
    if compressed:
        pictures[COMPRESSED] = projection
    return pictures
