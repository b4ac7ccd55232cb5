"""Projection: span vectors in two dimensions, by t-SNE (figure 3 of Ouchi et al., 2020) and by principal components
(figure 4 of Zhu et al., 2023), also before and after the parts that compress them (figure 2 of Nguyen et al., 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nearspan.errors import ResourceError
from nearspan.model import Model
from nearspan.report.papers.spans import WordSpan, input_vectors

FEWEST = 5  # points; fewer have no picture
INPUT, RECONSTRUCTION, COMPRESSED = "input", "z1", "z3"  # the paper's names of the latents


def project(vectors: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """Two coordinates [N, 2] for each vector [N, H]; near vectors stay near. The axes mean nothing.

    >>> project(np.eye(6, dtype=np.float32)).shape
    (6, 2)
    """
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise missing_package("scikit-learn") from error
    count = len(vectors)
    if count < FEWEST:
        return np.zeros((0, 2), dtype=np.float32)
    start = "pca" if float(np.ptp(vectors, axis=0).max()) > 0 else "random"
    perplexity = min(30.0, (count - 1) / 3)
    placed = TSNE(2, perplexity=perplexity, init=start, random_state=seed).fit_transform(vectors)
    return np.asarray(placed, dtype=np.float32)


@dataclass(frozen=True)
class Components:
    """Vectors along the two directions in which they differ most, and the share of the variance along each."""

    points: NDArray[np.float32]  # [N, 2]
    explained: tuple[float, float]


def principal(vectors: NDArray[np.float32]) -> Components:
    """Vectors [N, H] along their first two principal components; a component's largest weight is positive.

    >>> principal(np.array([[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], dtype=np.float32)).explained
    (1.0, 0.0)
    """
    if len(vectors) < FEWEST:
        return Components(np.zeros((0, 2), dtype=np.float32), (0.0, 0.0))
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    variances, directions = np.linalg.eigh(centred.T @ centred)  # [H] ascending, [H, H] in columns
    variances = variances[::-1].clip(min=0)
    share = variances / (variances.sum() or 1.0)
    two = directions[:, ::-1][:, :2]  # [H, 2]
    two = two * np.sign(two[np.abs(two).argmax(0), range(two.shape[1])])
    points = np.zeros((len(vectors), 2), dtype=np.float32)
    points[:, : two.shape[1]] = centred @ two
    first, second = [*share[:2].tolist(), 0.0][:2]
    return Components(points, (first, second))


@torch.inference_mode()
def posteriors(
    model: Model, spans: Sequence[WordSpan], projection: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """t-SNE [N, 2] of the representation's vectors and, where a model has them, of z1 and z3.

    z1 is the mean of the reconstruction's latent and z3 that of the bottleneck's. `projection` is the picture of the
    vectors that the head reads: z3 with a bottleneck, else the representation's.
    """
    generators, compressed = model.network.generators, model.network.bottleneck is not None
    if not compressed and generators is None:
        return {INPUT: projection}
    vectors = input_vectors(model, spans)
    pictures = {INPUT: project(vectors.cpu().numpy()) if compressed else projection}
    if generators is not None:
        pictures[RECONSTRUCTION] = project(generators.latent(vectors, "reconstruction").mean.cpu().numpy())
    if compressed:
        pictures[COMPRESSED] = projection
    return pictures


def missing_package(package: str) -> ResourceError:
    """The error for a package that the papers' tables and figures need."""
    what = f"the papers' tables and figures need {package}, which is not installed"
    return ResourceError(f"{what}: pip install 'nearspan[viz]'")
