"""Calibration at the end of training, where there is a development set."""

import logging
from collections.abc import Sequence

from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.evaluation import Evaluation
from nearspan.model import Model

logger = logging.getLogger(__name__)


def calibrate_scores(model: Model, dev: Sequence[Document], evaluation: Evaluation) -> None:
    """Calibrate a model on what it predicted of the development documents; too few entities leave it as it is."""
    try:
        fit = model.fit_calibration(dev, evaluation.predicted)
    except ConfigError as error:
        logger.info("scores are not calibrated: %s", error)
        return
    logger.info("scores are calibrated: ECE %.4f before, %.4f after", fit.ece_before, fit.ece_after)
