"""An auxiliary classifier: span vectors learn to be told apart by weights too, which goes quicker than by neighbours."""

from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor
from torch.nn import functional

from nearspan.heads import HeadInputs, Query, SoftmaxHead
from nearspan.losses.loss import Loss
from nearspan.registry import register
from nearspan.settings import Settings


class AuxiliarySoftmaxSettings(Settings):
    """How much the classifier counts."""

    kind: Literal["auxiliary_softmax"] = "auxiliary_softmax"
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)


class AuxiliarySoftmax(Loss):
    """weight * -sum_y t_y log softmax(W h + b)_y. It is asked in training alone: predictions are the head's."""

    Settings: ClassVar[type[Settings]] = AuxiliarySoftmaxSettings

    def __init__(self, settings: Any, inputs: HeadInputs) -> None:
        super().__init__(settings, inputs)
        self.classifier = SoftmaxHead(SoftmaxHead.Settings(bias=True), inputs)

    def forward(self, query: Query, targets: Tensor) -> Tensor:
        """What is added to the loss [], from span vectors [S, H] and targets [S, 1 + Y]."""
        scores = self.classifier.scores(query.vectors)
        loss: Tensor = self.settings.weight * functional.cross_entropy(scores, targets, reduction="sum")
        return loss


register("loss", AuxiliarySoftmax)
