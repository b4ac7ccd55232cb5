"""Heads: span vectors to label probabilities, and the loss that trains them."""

from typing import Annotated

from pydantic import Field

from nearspan.heads.biaffine import Biaffine, BiaffineSettings
from nearspan.heads.classifier import Classifier, ClassifierSettings
from nearspan.heads.instances import Instances, InstanceSettings
from nearspan.heads.joining import Joiner, JoiningSettings
from nearspan.heads.pool import Pool, WordPool
from nearspan.heads.sigmoid import Sigmoid, SigmoidSettings

HeadSettings = Annotated[
    ClassifierSettings | SigmoidSettings | BiaffineSettings | InstanceSettings, Field(discriminator="kind")
]
Head = Classifier | Sigmoid | Biaffine | Instances

__all__ = [
    "Biaffine",
    "BiaffineSettings",
    "Classifier",
    "ClassifierSettings",
    "Head",
    "HeadSettings",
    "InstanceSettings",
    "Instances",
    "Joiner",
    "JoiningSettings",
    "Pool",
    "Sigmoid",
    "SigmoidSettings",
    "WordPool",
]
