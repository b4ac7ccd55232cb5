"""`nearspan serve`: a model over HTTP, with a page to question it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli.corpus import ColumnsOption, FormatOption, read_documents
from nearspan.cli.evaluate import Search, Vote, chosen
from nearspan.cli.terminal import terminal
from nearspan.cli.train import Device
from nearspan.errors import ResourceError
from nearspan.memory.editor import Editor

PATIENCE = 1.0  # seconds that an edit waits for another process's; who reads waits with it


def serve(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for other machines too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    token: Annotated[
        str,
        typer.Option(envvar="NEARSPAN_TOKEN", help="What editing requests must carry; drawn and printed if not given."),
    ] = "",
    corpus: Annotated[
        list[Path] | None, typer.Option(help="Gold documents, any format: their errors can be browsed.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="Change a limit, name=value; may be given several times.")
    ] = None,
    search: Search = "",
    vote: Vote = None,
    device: Device = "",
    format: FormatOption = None,
    columns: ColumnsOption = None,
) -> None:
    """Serve a model over HTTP: a page to question and correct it, and the same for programs.

    Example: nearspan serve runs/mine --corpus test.conll
    """
    try:
        from nearspan import server
        from nearspan.server.guard import allowed_hosts
        from nearspan.server.run import run
    except ImportError as error:
        needed = f"serving needs {error.name}, which is not installed: pip install 'nearspan[serve]'"
        raise ResourceError(needed) from error
    console = terminal(stderr=True)
    limits = server.Limits().override(limit or [])
    documents = read_documents(corpus or [], format, console, columns)
    editor = Editor.open(model, device, PATIENCE)
    chosen(editor.model, search, vote)
    drawn = token or secrets.token_urlsafe(24)
    service = server.Service(editor.model, documents)
    app = server.create_app(service, drawn, limits, allowed_hosts(host))

    def started(address: str) -> None:
        shown = f"{address}#token={drawn}" if not token else address  # what follows # never goes over the wire
        console.print(f"Serving {model} at\n\n  {shown}\n", highlight=False, markup=False, soft_wrap=True)
        console.print("Ctrl-C ends it. Programs: see openapi.json there.", style="dim", highlight=False)

    run(app, host, port, limits, started)
