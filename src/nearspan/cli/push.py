"""`nearspan push`: a model on the Hugging Face hub."""

from typing import Annotated

import typer

from nearspan.cli import options
from nearspan.cli.terminal import echo


def push(
    model: options.ModelFolder,
    name: Annotated[str, typer.Argument(metavar="USER/MODEL", help="The name on the hub.")],
    memory: Annotated[
        bool, typer.Option("--memory", help="Publish the memory too: all the training sentences that it holds.")
    ] = False,
    private: Annotated[
        bool | None,
        typer.Option("--private/--public", help="Who may read a new repository; as your account says if not given."),
    ] = None,
) -> None:
    """Publish a model on the Hugging Face hub.

    Its card tells the scores that its training has recorded. Log in first, by `hf auth login` or HF_TOKEN.

    Example: nearspan push runs/mine user/model --private
    """
    from nearspan.integrations.huggingface import check_name, push

    check_name(name)
    loaded = options.load_model(model, "cpu", "", None)
    echo(push(loaded, name, memory=memory, private=private))
