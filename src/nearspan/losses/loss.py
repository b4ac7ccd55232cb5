"""A loss: what training asks for beside the head's own, whatever the head.

Write settings with a literal `kind` and a subclass with `Settings`, and register it:
`nearspan.register("loss", MyLoss)`; a recipe names it under `[losses.extra.NAME]`.
"""

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from nearspan.heads import HeadInputs, Query
from nearspan.settings import Settings
from nearspan.spans import Candidates


class Loss(nn.Module):
    """Changes what a head has to learn, or adds to its loss, or both; it may have weights of its own.

        class SmallVectors(Loss):
            Settings = SmallVectorsSettings  # kind: Literal["small_vectors"] = "small_vectors"; weight: float = 0.01

            def forward(self, query, targets):
                return self.settings.weight * query.vectors.square().sum()

    It is asked in training alone. What it adds is summed over the batch's spans, as the head's loss is.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, settings: Any, inputs: HeadInputs) -> None:  # noqa: ARG002
        super().__init__()
        self.settings = settings

    @classmethod
    def build(cls, settings: Any, inputs: HeadInputs) -> Self:
        """The loss for span vectors and labels as a head has them."""
        return cls(settings, inputs)

    def change_targets(self, targets: Tensor, candidates: Candidates) -> Tensor:  # noqa: ARG002
        """How probable each label of each candidate should be [S, 1 + Y], null first."""
        return targets

    def forward(self, query: Query, targets: Tensor) -> Tensor:  # noqa: ARG002
        """What is added to the loss [], from the batch's span vectors [S, H] and targets [S, 1 + Y]."""
        return query.vectors.new_zeros(())
