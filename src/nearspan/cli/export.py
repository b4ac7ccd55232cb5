"""`nearspan export`: a model for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo
from nearspan.errors import ConfigError


def export(
    model: options.ModelFolder,
    onnx: Annotated[bool, typer.Option("--onnx", help="As ONNX graphs, the one kind there is.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; `onnx` in the model's if not given.")
    ] = None,
) -> None:
    """Write a model's encoder and span scores as ONNX graphs.

    `nearspan annotate MODEL --runtime onnx` computes with them, and so can servers that know nothing of nearspan.

    Example: nearspan export runs/mine --onnx
    """
    if not onnx:
        raise ConfigError("name what to write: --onnx")
    from nearspan.integrations.onnx import export as export_onnx

    for path in export_onnx(options.load_model(model, "cpu", "", None), out):
        echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", err=True)
