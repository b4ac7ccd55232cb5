"""`nearspan annotate --ray`: files on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from nearspan.cli.terminal import echo, name_options
from nearspan.document import count_of
from nearspan.errors import ConfigError

if TYPE_CHECKING:
    from nearspan.model import Model


def annotate_on_ray(
    address: str,
    model: Model,
    files: Sequence[str],
    out: str,
    *,
    workers: int | None,
    device: str,
    format: str | None,
    force: bool,
) -> None:
    """Annotate files on a cluster, and say what became of them; exit code 1 where some failed."""
    from nearspan.integrations.ray import annotate_files, cluster

    if device not in ("", "cpu", "cuda"):
        raise ConfigError(f"--device {device}: on a cluster it is cpu or cuda, where each worker has a GPU of its own")
    with cluster(address), name_options({"format": "--format"}):
        outcome = annotate_files(
            model, files, out, workers=workers, gpus=float(device == "cuda"), format=format, force=force
        )
    texts = f"{outcome.texts:,} texts, {count_of(outcome.entities, 'entity', 'entities')}"
    echo(f"{texts}; {count_of(len(outcome.outputs), 'output', 'outputs')} in {out}", err=True)
    for address, reason in outcome.failed.items():
        echo(f"{address}: {reason}", err=True)
    if outcome.failed:
        echo(f"{count_of(len(outcome.failed), 'input', 'inputs')} failed, see {out.rstrip('/')}/failed.jsonl", err=True)
        raise typer.Exit(1)
