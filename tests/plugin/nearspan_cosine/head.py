"""A head that votes by cosine over a datastore of training spans."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.heads import Contributions, Head, HeadInputs, Query, Targets
from nearspan.knn import Pool, similarities
from nearspan.settings import Settings


class CosineSettings(Settings):
    """A softmax of cosines with all training spans."""

    kind: Literal["cosine"] = "cosine"
    temperature: float = Field(default=0.1, gt=0)
    sentences: int = Field(default=20, ge=1)  # drawn for each step of training


class CosineHead(Head):
    """P(y|s) = sum over training spans j with label y of softmax_j(cos(s, j) / temperature)."""

    Settings: ClassVar[type[Settings]] = CosineSettings
    uses_datastore: ClassVar[bool] = True

    def __init__(self, settings: CosineSettings, inputs: HeadInputs) -> None:
        super().__init__()
        self.settings, self.labels = settings, inputs.labels + 1
        self.training_neighbours = settings.sentences

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:
        """-sum_y t_y log P(y|s), summed over spans."""
        cosines = functional.normalize(query.vectors, dim=1) @ functional.normalize(pool.vectors.float(), dim=1).T
        probabilities = (cosines / self.settings.temperature).softmax(1) @ pool.one_hot_labels(self.labels)
        return -(targets.spans * probabilities.clamp(min=1e-9).log()).sum()

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:
        """P(y|s) [S, 1 + Y]."""
        weights = self._weights(query, query.vectors)
        one_hot = functional.one_hot(query.datastore.labels.clamp(min=0), self.labels).to(weights.dtype)
        return (weights @ one_hot).float()

    def contributions(self, query: Query, row: int) -> Contributions:
        """The weight of every training span."""
        rows = (query.datastore.labels >= 0).nonzero().flatten()
        [weights] = self._weights(query, query.vectors[row][None].double())
        return Contributions(rows, weights[rows])

    def _weights(self, query: Query, vectors: Tensor) -> Tensor:
        """softmax of cosines [S, N]; spans that were removed have none."""
        cosines = similarities(query.datastore, vectors.double(), cosine=True)
        return (cosines / self.settings.temperature + query.datastore.offsets(slice(None))).softmax(1)
