"""Projection: span vectors in two dimensions by t-SNE (figure 3 of Ouchi et al., 2020)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearspan.errors import ResourceError

FEWEST = 5  # points; fewer have no picture


def project(vectors: NDArray[np.float32], seed: int = 0) -> NDArray[np.float32]:
    """Two coordinates [N, 2] for each vector [N, H]; near vectors stay near. The axes mean nothing.

    >>> project(np.eye(6, dtype=np.float32)).shape
    (6, 2)
    """
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise missing("scikit-learn") from error
    count = len(vectors)
    if count < FEWEST:
        return np.zeros((0, 2), dtype=np.float32)
    start = "pca" if float(np.ptp(vectors, axis=0).max()) > 0 else "random"
    perplexity = min(30.0, (count - 1) / 3)
    placed = TSNE(2, perplexity=perplexity, init=start, random_state=seed).fit_transform(vectors)
    return np.asarray(placed, dtype=np.float32)


def missing(package: str) -> ResourceError:
    """The error for a package that draws."""
    return ResourceError(f"the report needs {package}, which is not installed: pip install 'nearspan[viz]'")
