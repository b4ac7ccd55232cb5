"""nearspan: named entity recognition that shows its evidence.

>>> import nearspan
>>> document = nearspan.markup("[Ada](PERSON) lives in [Oslo](PLACE)")
>>> [entity.label for entity in document.entities]
['PERSON', 'PLACE']
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from nearspan.errors import ConfigError
from nearspan.version import __version__ as __version__

# Before torch is loaded: its threads wait for each other in a loop, and for so long that nothing gets done where a core
# has other work too. With fewer turns they go to sleep; a machine at rest is as fast.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# oneDNN keeps what it has compiled for each size of a product, a thousand sizes and half a megabyte each. Texts make
# ever new sizes, so a long run would only grow by them; within a batch a handful is used again and again.
for _name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_name, "16")

TYPE_CHECKING = False  # as in `typing`, which takes its time to import
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from nearspan.config import Recipe
    from nearspan.config import load as recipe
    from nearspan.document import Document, Entity, Span
    from nearspan.encoders.glove import learn_vectors
    from nearspan.evaluation import evaluate, score
    from nearspan.explain import Evidence
    from nearspan.formats import Corpus, read, split, write
    from nearspan.formats import statistics as check
    from nearspan.formats.markup import parse as markup
    from nearspan.formats.synonyms import read as synonyms
    from nearspan.model import Model
    from nearspan.registry import register
    from nearspan.report import audit, report  # type: ignore[no-redef]
    from nearspan.review import Review
    from nearspan.training import train, tune

__all__ = [
    "Corpus",
    "Document",
    "Entity",
    "Evidence",
    "Model",
    "Recipe",
    "Review",
    "Span",
    "audit",
    "check",
    "evaluate",
    "learn_vectors",
    "load",
    "markup",
    "read",
    "recipe",
    "register",
    "report",
    "score",
    "split",
    "synonyms",
    "train",
    "tune",
    "write",
]

# Where they are defined, and as what: a module is imported when one of its names is first used, so that torch is loaded
# only where it is needed.
_DEFINED = {
    "nearspan.config": {"Recipe": "Recipe", "recipe": "load"},
    "nearspan.document": {"Document": "Document", "Entity": "Entity", "Span": "Span"},
    "nearspan.encoders.glove": {"learn_vectors": "learn_vectors"},
    "nearspan.evaluation": {"evaluate": "evaluate", "score": "score"},
    "nearspan.explain": {"Evidence": "Evidence"},
    "nearspan.formats": {
        "Corpus": "Corpus",
        "check": "statistics",
        "read": "read",
        "split": "split",
        "write": "write",
    },
    "nearspan.formats.markup": {"markup": "parse"},
    "nearspan.formats.synonyms": {"synonyms": "read"},
    "nearspan.model": {"Model": "Model"},
    "nearspan.registry": {"register": "register"},
    "nearspan.review": {"Review": "Review"},
    "nearspan.report": {"audit": "audit", "report": "report"},
    "nearspan.training": {"train": "train", "tune": "tune"},
}


def load(
    path: Path | str,
    device: str = "",
    memory: bool = True,
    *,
    precision: str = "auto",
    runtime: str = "torch",
    revision: str = "",
    local_files_only: bool = False,
) -> Model:
    """Read the model that a training left in a folder, with its memory as edits have left it. Nothing in it is run.

        model = nearspan.load("runs/mine")
        model = nearspan.load("user/model", revision="v1")

    Where there is no folder of the name, it is the id of a model on the Hugging Face hub, of which `revision` is a
    branch, a tag or a commit; with `local_files_only` it is taken from the hub's cache alone. `device` is cpu, cuda or
    cuda:1; a GPU is taken where there is one. Without `memory` the model has no evidence. `precision` is float32, bf16
    or int8, in which a pretrained encoder computes; `auto` is the quickest way to what float32 gives. With
    the `runtime` onnx ONNX Runtime computes the encoder and the span scores, by graphs that `nearspan export --onnx`
    has written.
    """
    from nearspan.integrations.huggingface import local_folder
    from nearspan.model import Model

    folder = local_folder(path, revision, local_files_only)
    if runtime == "torch":
        return Model.load(folder, device, memory, precision)
    if runtime != "onnx":
        raise ConfigError(f"`runtime` is {runtime!r}; known: onnx, torch")
    from nearspan.integrations.onnx import use_onnx

    return use_onnx(Model.load(folder, device or "cpu", memory, precision))


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for module, names in _DEFINED.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), names[name])
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `nearspan.report` the function also after the package of that name was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "report" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
