"""`nearspan serve`: a model over HTTP, with a page to question it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli.options import (
    Columns,
    Device,
    Format,
    Interpolate,
    ModelFolder,
    Search,
    apply_options,
    read_documents,
)
from nearspan.errors import ResourceError

PATIENCE = 1.0  # seconds that an edit waits for another process's; who reads waits with it


def serve(
    model: ModelFolder,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for other machines too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    token: Annotated[
        str,
        typer.Option(envvar="NEARSPAN_TOKEN", help="What editing requests must carry; drawn and printed if not given."),
    ] = "",
    corpus: Annotated[
        list[Path] | None, typer.Option(help="LabelledSpan documents, any format: their errors can be browsed.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="Change a limit, name=value; may be given several times.")
    ] = None,
    search: Search = "",
    interpolate: Interpolate = None,
    device: Device = "",
    format: Format = None,
    columns: Columns = None,
) -> None:
    """Serve a model over HTTP, with a page to question and correct it.

    Programs find the same at openapi.json.

    Example: nearspan serve runs/mine --corpus test.conll
    """
    try:
        from nearspan import server
        from nearspan.server.guard import allowed_hosts
        from nearspan.server.run import run
    except ImportError as error:
        missing = f"serving needs {error.name}, which is not installed: pip install 'nearspan[serve]'"
        raise ResourceError(missing) from error
    from nearspan.memory import Editor

    limits = server.Limits().override(limit or [])
    documents = read_documents(corpus, format, columns)
    editor = Editor.open(model, device, PATIENCE)
    apply_options(editor.model, search, interpolate)
    secret = token or secrets.token_urlsafe(24)
    service = server.Service(editor.model, documents)
    app = server.create_app(service, secret, limits, allowed_hosts(host))

    def show_address(address: str) -> None:
        link = address if token else f"{address}#token={secret}"  # what follows # never goes over the wire
        typer.echo(f"Serving {model} at\n\n  {link}\n\nCtrl-C ends it. Programs: see openapi.json there.", err=True)

    run(app, host, port, limits, show_address)
