"""`nearspan serve`: a model over HTTP, with a page to question it."""

import logging
import math
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo
from nearspan.errors import ConfigError, ResourceError

if TYPE_CHECKING:
    from nearspan.memory import Weight
    from nearspan.model import Model

logger = logging.getLogger(__name__)

WARNING = (
    "Other machines can reach this server. Whoever %s can read %s: training text, and the names of its documents. "
    "There is no TLS: without a proxy that has it, others on the network read along. The server answers to its own "
    "addresses, and to names that --allow-host gives."
)
PATIENCE = 1.0  # seconds that an edit waits for another process's; who reads waits with it


def serve(
    model: options.ModelFolder,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for other machines too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    token: Annotated[
        str,
        typer.Option(envvar="NEARSPAN_TOKEN", help="What editing requests must carry; drawn and printed if not given."),
    ] = "",
    read_token: Annotated[
        str,
        typer.Option(
            envvar="NEARSPAN_READ_TOKEN",
            help="What reading requests must carry; drawn and printed where other machines can reach the server.",
        ),
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="Let whoever reaches the server read, training text too.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name that the server answers to, beside its address; may be given several times."),
    ] = None,
    corpus: Annotated[
        list[Path] | None, typer.Option(help="Gold documents, any format: their errors can be browsed.")
    ] = None,
    review: Annotated[
        list[Path] | None,
        typer.Option(help="Texts to answer in the page's Review, any format or .txt; may be given several times."),
    ] = None,
    label_studio: Annotated[
        bool, typer.Option("--label-studio", help="Speak Label Studio's protocol too: predict its tasks, and learn.")
    ] = False,
    inception: Annotated[
        bool, typer.Option("--inception", help="Speak INCEpTION's protocol of external recommenders too.")
    ] = False,
    annotation_weight: Annotated[
        str,
        typer.Option(
            help="How often the entities of a saved annotation count; enough: as it takes for it to be read so."
        ),
    ] = "8",
    train_every: Annotated[
        int,
        typer.Option(
            "--train-every", min=0, help="Train the model again after so many annotations, and go on with it; 0: never."
        ),
    ] = 0,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes that answer, one core each, behind one memory.")
    ] = 1,
    limit: Annotated[
        list[str] | None, typer.Option(help="Change a limit, name=value; may be given several times.")
    ] = None,
    search: options.Search = "",
    interpolate: options.Interpolate = None,
    threshold: options.Thresholds = None,
    device: options.Device = "",
    precision: options.Precision = "auto",
    format: options.Format = None,
    columns: options.Columns = None,
) -> None:
    """Serve a model over HTTP, with a page to question and correct it.

    Programs find the same at openapi.json.

    Example: nearspan serve runs/mine --corpus test.conll
    """
    try:
        from nearspan import server
        from nearspan.server.access import allowed_hosts, is_loopback
        from nearspan.server.run import run
    except ImportError as error:
        missing = f"serving needs {error.name}, which is not installed: pip install 'nearspan[serve]'"
        raise ResourceError(missing) from error
    from nearspan.memory import Editor
    from nearspan.review import finish_swap

    if public and read_token:
        raise ConfigError("`public` lets everybody read, with no `read_token`: leave one of them out")
    limits, weight = server.Limits().override(limit or []), _read_weight(annotation_weight)
    hosts = allowed_hosts(host, allow_host or ())
    documents = options.read_documents(corpus, format, columns)
    texts = options.read_texts(review or (), format, columns)

    def configure(model: "Model") -> "Model":
        return options.apply_to(model.set_precision(precision), search, interpolate, threshold)

    finish_swap(Path(model))
    editor = Editor.open(options.local_model(model), device, PATIENCE)
    service = server.Service(configure(editor.model), documents, texts, configure)
    secret, read_secret = token or secrets.token_urlsafe(24), read_token
    if not is_loopback(host):
        content = f"all {len(editor):,} sentences of the memory" + ", and the errors on the corpus" * bool(documents)
        logger.warning(WARNING, "finds it" if public else "has a token", content)
        read_secret = read_token or ("" if public else secrets.token_urlsafe(24))
    asked: dict[server.Tool, bool] = {"label-studio": label_studio, "inception": inception}
    tools = [tool for tool, is_asked in asked.items() if is_asked]
    if train_every and not tools:
        raise ConfigError("--train-every counts what annotation tools save: give --label-studio or --inception too")
    app = server.create_app(service, secret, limits, hosts, read_secret, tools, weight, train_every, workers)

    def show_address(address: str) -> None:
        link = address if token else f"{address}#token={secret}"  # what follows # never goes over the wire
        echo(f"Serving {model} at\n\n  {link}\n", err=True)
        if read_secret and not read_token:
            echo(f"and, for those who may read only, at\n\n  {address}#token={read_secret}\n", err=True)
        for tool, link in _tool_links(address, "TOKEN" if token else secret, tools):
            echo(f"and for {tool} at\n\n  {link}\n", err=True)
        echo("Ctrl-C ends it. Programs: see openapi.json there.", err=True)

    run(app, host, port, limits, show_address)


def _read_weight(text: str) -> "Weight":
    """A number above 0, or `enough`.

    >>> _read_weight("2.5"), _read_weight("enough")
    (2.5, 'enough')
    """
    if text == "enough":
        return "enough"
    try:
        if 0 < float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    raise ConfigError(f"`annotation_weight` is a number above 0, or 'enough', not {text!r}")


def _tool_links(address: str, token: str, tools: Sequence[str]) -> list[tuple[str, str]]:
    """What each annotation tool is to be told. Neither can send a header with all its requests, so the token is in it.

    >>> _tool_links("http://127.0.0.1:8000/", "TOKEN", ["label-studio"])
    [('Label Studio, as its ML backend,', 'http://nearspan:TOKEN@127.0.0.1:8000/label-studio')]
    """
    scheme, _, place = address.partition("//")
    links = {
        "label-studio": ("Label Studio, as its ML backend,", f"{scheme}//nearspan:{token}@{place}label-studio"),
        "inception": ("INCEpTION, as an external recommender,", f"{address}inception/{token}"),
    }
    return [links[tool] for tool in tools]
