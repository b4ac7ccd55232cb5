"""Publish a model on the Hugging Face hub: one commit with the files of a model folder and nothing else."""

from __future__ import annotations

import logging
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nearspan.errors import ModelError, ResourceError, first_line
from nearspan.integrations.huggingface.folder import HUB_ID, LIBRARY, MODEL_FILES
from nearspan.version import __version__

if TYPE_CHECKING:
    from nearspan.model import Model

logger = logging.getLogger(__name__)


def push(model: Model, name: str, *, memory: bool = False, private: bool | None = None) -> str:
    """Publish a model under a name such as `user/model`; the address of the commit.

    What an earlier push has left there and this one lacks, such as a memory, is removed. It stays in the history.
    """
    try:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    except ImportError as error:
        raise ResourceError("publishing on the hub needs huggingface_hub: pip install 'nearspan[hub]'") from error
    from nearspan.integrations.huggingface.card import hub_card
    from nearspan.model.folder import save

    check_name(name)
    _check_memory(model, memory)
    with TemporaryDirectory() as folder:
        save(model, Path(folder), hub_card(model, name, memory), memory)
        files = {
            path.relative_to(folder).as_posix(): path for path in sorted(Path(folder).rglob("*")) if path.is_file()
        }
        files = {file: path for file, path in files.items() if is_model_file(file)}
        try:
            api = HfApi(library_name=LIBRARY, library_version=__version__)
            name = api.create_repo(name, private=private, exist_ok=True).repo_id
            _check_visibility(api, name, private)
            stale = [file for file in api.list_repo_files(name) if is_model_file(file) and file not in files]
            operations: list[Any] = [CommitOperationAdd(file, str(path)) for file, path in files.items()]
            operations += [CommitOperationDelete(file) for file in stale]
            commit = api.create_commit(name, operations, commit_message="Publish a nearspan model")
        except ModelError:
            raise
        except Exception as error:  # of several HTTP libraries, as huggingface_hub has used one after the other
            raise ModelError(
                f"{name} cannot be published: {first_line(error)}. Log in by `hf auth login`, with a token for writing"
            ) from error
    return str(commit.commit_url)


def check_name(name: str) -> None:
    """An error for a name that no repository of the hub can have."""
    if HUB_ID.fullmatch(name) is None or "@" in name:
        raise ModelError(f"a model on the hub has a name such as user/model, found {name!r}")


def is_model_file(name: str) -> bool:
    """Whether a file of a repository is one of a model folder.

    >>> is_model_file("vocabularies/labels.json"), is_model_file("result.json")
    (True, False)
    """
    return any(fnmatch(name, pattern) for pattern in MODEL_FILES)


def _check_memory(model: Model, memory: bool) -> None:
    """Say what a memory holds, or what a model lacks without it."""
    if memory:
        if model.datastore is None:
            raise ModelError("`memory` is to be published, and this model has none")
        logger.warning(
            "the memory holds %s sentences of training text: whoever can read the repository can read them",
            f"{len(model.datastore.sentences):,}",
        )
    elif model.network.head.uses_datastore:
        raise ModelError(
            f"this model's head, {model.recipe.head.kind!r}, predicts from its memory and cannot be published without: "
            "set `memory` where the training text may be shared, or train a recipe whose head has weights of its own, "
            "such as classifier"
        )
    elif model.network.interpolation is not None and model.datastore is not None:
        logger.warning("this model's predictions rest in part on its memory: what is published predicts without it")


def _check_visibility(api: Any, name: str, private: bool | None) -> None:
    """An error where a repository was there before and is not as private as is asked."""
    if private is not None and (is_private := bool(api.repo_info(name).private)) != private:
        kind = "private" if is_private else "public"
        raise ModelError(f"{name} is there already and {kind}: change that in its settings, nothing was published")
