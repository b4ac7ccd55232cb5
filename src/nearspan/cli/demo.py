"""`nearspan demo`: train, score and explain on the bundled sample, in three minutes."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nearspan.cli.explain import show_evidence
from nearspan.cli.terminal import terminal
from nearspan.document import Document
from nearspan.io.model_folder import CONFIG, ENCODER, RESULT, listed_files, read_config

RECIPE: Path | str = ""  # that which a training has where none is named
EPOCHS = ("training.minutes=0", "training.epochs=24")  # the same on any machine
SETTINGS = (  # a small corpus wants small batches, which have few others to compare with, and has few spellings
    *EPOCHS,
    "training.batch=8",
    "head.training_neighbours=16",
    "encoder.spelling.size=64",
    "encoder.spelling.rows=8192",
)
QUESTION = "Marie Curie studied physics at the University of Paris. I took ibuprofen for the pain in my knee."


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model; an earlier demo is replaced.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="All chance comes from it.")] = 0,
) -> None:
    """Train a model on the bundled sample, score it and question it.

    Example: nearspan demo
    """
    from nearspan import config, training
    from nearspan.formats import read, sample

    console = terminal()
    documents = [read(sample.path(split)).documents for split in ("train", "dev", "test")]
    recipe = config.load(RECIPE or training.first_recipe()).override(SETTINGS)
    if _is_demo(out, documents[0]):
        # all else that is its own is written over, and what is not stays; the record of what it is goes last
        for name in [*_encoder_files(out), *sorted(training.REFUSED, key=lambda name: name == RESULT)]:
            (out / name).unlink(missing_ok=True)
    stopped = (out / training.CHECKPOINT).is_file() and not (out / RESULT).exists()
    callbacks = [training.ProgressBar(console)]
    run = training.train(recipe, *documents, out=out, seed=seed, device="cpu", resume=stopped, callbacks=callbacks)
    if run.test is not None:
        console.print()
        console.print(str(run.test.scores), highlight=False)
    console.print("\n[bold]Why does it say that?[/]  Every entity with the training spans it rests on:\n")
    show_evidence(QUESTION, run.model.explain(QUESTION, 3), run.model.labels)
    folder = shlex.quote(str(out))
    ask = f"The model is in {out}. Ask it yourself, in the terminal or in a browser:"
    console.print(ask, markup=False, highlight=False)
    for command in (f"explain {folder} 'Darwin sailed to Brazil with a sore throat.'", f"serve {folder}"):
        console.print(f"  nearspan {command}", markup=False, highlight=False, soft_wrap=True)


def _encoder_files(folder: Path) -> list[str]:
    """What the config of a model names of a pretrained encoder."""
    if not (folder / CONFIG).exists():  # a demo was being replaced
        return []
    files = listed_files(folder, read_config(folder / CONFIG)["model"].get("files"))
    return [name for name in files if name.startswith(f"{ENCODER}/")]


def _is_demo(folder: Path, documents: Sequence[Document]) -> bool:
    """Whether a folder holds a finished demo: its record says that this command made it, of the bundled sample."""
    from nearspan.training.data import digest

    try:
        record = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        called = next(word for word in record["command"][1:] if not word.startswith("-"))
        return bool(called == "demo" and record["data"] == digest(documents))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration):  # no record, or not ours
        return False
