"""Model folders from the Hugging Face hub. Of a repository only the files of a model are taken, and none is run."""

from __future__ import annotations

import re
from pathlib import Path

from nearspan.errors import ModelError, ResourceError, first_line
from nearspan.io.memory_files import ALL_FILES
from nearspan.io.model_folder import CALIBRATION, CARD, CONFIG, ENCODER, VOCABULARIES, WEIGHTS
from nearspan.io.paths import exists
from nearspan.version import __version__

MODEL_FILES = (CONFIG, WEIGHTS, CARD, CALIBRATION, *ALL_FILES, f"{VOCABULARIES}/*", f"{ENCODER}/*")  # as patterns
LIBRARY = "nearspan"  # as the hub counts downloads

HUB_ID = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[^\s@]+))?", re.ASCII)


def local_folder(model: Path | str, revision: str = "", local_files_only: bool = False) -> Path:
    """The folder of a model: the one of this name, or else that of the model with this id on the hub.

    A name is taken for an id where it has the shape `user/model`, or `user/model@revision`, and nothing of that name is
    here. Where a folder is here the network is never asked, nor for `runs/typo` where there is a folder `runs`, unless
    a revision is given. A `Path` is always a folder.

    >>> local_folder("/home/ada/missing")
    PosixPath('/home/ada/missing')
    """
    match = HUB_ID.fullmatch(model) if isinstance(model, str) else None
    if match and not (revision or match["revision"]) and Path(model).parent.is_dir():
        match = None
    if exists(Path(model)) or match is None:
        if revision:
            raise ModelError(
                f"`revision` is for models of the Hugging Face hub, such as user/model, and {model} is none"
            )
        return Path(model)
    if revision and match["revision"]:
        raise ModelError(f"{model} names a revision already: leave out `revision`, which is {revision!r}")
    return download(match["name"], revision or match["revision"] or "", local_files_only)


def download(name: str, revision: str = "", local_files_only: bool = False) -> Path:
    """The folder of a model of the hub, in the hub's cache; what is there already is not asked for again.

    `revision` is a branch, a tag or a commit. With `local_files_only`, or HF_HUB_OFFLINE=1, only the cache is looked
    into.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise ResourceError("models of the hub need huggingface_hub: pip install 'nearspan[hub]'") from error

    missing = f"no model folder at {name}, and no model of this name on the Hugging Face hub"
    try:
        folder = snapshot_download(
            name,
            revision=revision or None,
            allow_patterns=list(MODEL_FILES),
            local_files_only=local_files_only,
            library_name=LIBRARY,
            library_version=__version__,
        )
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated: ask for access on its page of the hub, and log in by `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"{missing}. If it is a private one, log in by `hf auth login`") from error
    except RevisionNotFoundError as error:
        raise ModelError(f"{name} has no revision {revision!r}: give a branch, a tag or a commit of it") from error
    except Exception as error:  # of several HTTP libraries, as huggingface_hub has used one after the other
        raise ModelError(
            f"no model folder at {name}, and it cannot be had from the Hugging Face hub: {first_line(error)}"
        ) from error
    return Path(folder)
