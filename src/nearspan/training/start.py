"""What a training begins with where it is not told: a recipe, and data to be scored on."""

import logging
from collections.abc import Sequence
from pathlib import Path

from nearspan.config import Recipe, load
from nearspan.document import Document
from nearspan.encoders.packaged import INSTALL, is_installed
from nearspan.formats.split import split
from nearspan.model.folder import read_recipe
from nearspan.segment import split as sentences
from nearspan.training.warm_start import warm_recipe

logger = logging.getLogger("nearspan.training")

WITH_ENCODER, WITHOUT_ENCODER = "start", "start-static"
FEWEST = 20  # documents or sentences; of fewer none are held out


def first_recipe() -> str:
    """The recipe for those who name none; it says what is missed where the packaged encoder is not installed."""
    if is_installed("minilm"):
        return WITH_ENCODER
    logger.warning(
        "without a pretrained encoder, F1 is lower: %s brings one; until then the recipe is %s",
        INSTALL,
        WITHOUT_ENCODER,
    )
    return WITHOUT_ENCODER


def starting_recipe(name: str, from_model: Path | None) -> Recipe:
    """The recipe of a name; else that of the model to begin with, or the one for those who name none."""
    if not name and from_model is not None:
        return warm_recipe(read_recipe(from_model))
    return load(name or first_recipe())


def hold_out(documents: Sequence[Document], share: float, seed: int) -> tuple[Sequence[Document], Sequence[Document]]:
    """Training and development documents: a share of them, with all labels in both; none where there are too few."""
    if not share or (len(documents) < FEWEST and sum(len(sentences(document)) for document in documents) < FEWEST):
        return documents, ()
    parts = split(documents, {"train": None, "dev": share}, seed=seed)
    return parts["train"].documents, parts["dev"].documents
