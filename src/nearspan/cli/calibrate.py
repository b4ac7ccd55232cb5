"""`nearspan calibrate`: scores that say how likely an entity is right, and the threshold that keeps a precision."""

import logging
import shlex
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo, print_json
from nearspan.document import count_of
from nearspan.errors import ConfigError
from nearspan.io.model_folder import CALIBRATION

logger = logging.getLogger(__name__)


def calibrate(
    model: options.ModelFolder,
    corpus: Annotated[list[Path], typer.Argument(help="Gold documents that training has not seen, any format.")],
    target_precision: Annotated[
        float | None, typer.Option(help="Also find the lowest threshold that keeps this precision, such as 0.95.")
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(help="Texts of the kind that the threshold is for, not labelled; may be given again."),
    ] = None,
    save_threshold: Annotated[
        bool, typer.Option("--save-threshold", help="Keep that threshold in the model: it counts from then on.")
    ] = False,
    as_json: options.Json = False,
    device: options.Device = "",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Make a model's scores say how likely an entity is right.

    What the model finds stays the same. Training does this too where it has a development set.

    Example: nearspan calibrate runs/mine dev.conll --target-precision 0.95
    --texts notes.txt
    """
    from nearspan.model import Model

    if save_threshold and target_precision is None:
        raise ConfigError("--save-threshold keeps the threshold of --target-precision: give that too")
    if texts and target_precision is None:
        raise ConfigError("--texts are what --target-precision is for: give that too")
    documents = options.read_documents(corpus, format, columns)
    loaded = Model.load(options.local_model(model), device)
    had_thresholds = bool(loaded.thresholds)
    fit = loaded.calibrate(documents)
    loaded.save_calibration()  # it holds whether or not a threshold keeps the precision
    if had_thresholds:
        logger.warning("the thresholds that the model had are dropped: they were for other scores")
    choice = None
    if target_precision is not None:
        choice = fit.threshold_for(target_precision, loaded.pipe(options.read_texts(texts)) if texts else None)
    if choice is not None and save_threshold:
        loaded.set_threshold(choice.threshold)
        loaded.save_calibration()
    if as_json:
        content = {**fit.calibration.to_dict(), "ece_before": fit.ece_before, "ece_after": fit.ece_after}
        content["threshold"] = choice.to_dict() if choice is not None else None
        print_json(content)
        return
    echo(
        f"calibrated on {count_of(len(fit.before), 'predicted entity', 'predicted entities')}: calibration error (ECE) "
        f"{fit.ece_before:.4f} before, {fit.ece_after:.4f} after, by cross-validation\n"
        f"kept in {Path(model) / CALIBRATION}"
    )
    if choice is not None:
        kept = f"keeps a precision of {choice.target:g}"
        expected = f"on the documents; on the texts a precision of {choice.target:g} is to be expected"
        echo(f"{choice} {expected if texts else kept}")
        use = (
            "it counts from now on; --threshold 0 leaves it out"
            if save_threshold
            else _example(model, choice.threshold)
        )
        echo(use)


def _example(model: str, threshold: float) -> str:
    return f"use it:  nearspan annotate {shlex.quote(model)} notes.txt --threshold {threshold}"
