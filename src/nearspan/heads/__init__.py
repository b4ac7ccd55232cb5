"""Heads: span vectors to label probabilities, and the loss that trains them."""

from typing import Annotated

from pydantic import Field

from nearspan.heads.biaffine import Biaffine, BiaffineSettings
from nearspan.heads.classifier import Classifier, ClassifierSettings
from nearspan.heads.instances import Instances, InstanceSettings
from nearspan.heads.pool import Pool, WordPool

HeadSettings = Annotated[ClassifierSettings | BiaffineSettings | InstanceSettings, Field(discriminator="kind")]
Head = Classifier | Biaffine | Instances

__all__ = [
    "Biaffine",
    "BiaffineSettings",
    "Classifier",
    "ClassifierSettings",
    "Head",
    "HeadSettings",
    "InstanceSettings",
    "Instances",
    "Pool",
    "WordPool",
]
