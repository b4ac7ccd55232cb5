"""Heads: span vectors to label probabilities, and the loss that trains them."""

from typing import Annotated

from pydantic import Field

from nearspan.heads.classifier import Classifier, ClassifierSettings
from nearspan.heads.instances import Instances, InstanceSettings
from nearspan.heads.pool import Pool, WordPool

HeadSettings = Annotated[ClassifierSettings | InstanceSettings, Field(discriminator="kind")]
Head = Classifier | Instances

__all__ = [
    "Classifier",
    "ClassifierSettings",
    "Head",
    "HeadSettings",
    "InstanceSettings",
    "Instances",
    "Pool",
    "WordPool",
]
