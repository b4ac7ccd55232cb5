"""Writing the graphs of a model."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from nearspan.errors import ConfigError
from nearspan.formats.extras import import_extra
from nearspan.integrations.onnx.graphs import ABOUT, EncoderGraph, SpanGraph, graphs_of, onnx_folder
from nearspan.io.atomic import write_file
from nearspan.io.model_folder import file_digest
from nearspan.model import Model
from nearspan.model.folder import weights_id

OPSET = 18


def export(model: Model, folder: Path | str | None = None) -> list[Path]:
    """Write the graphs of a model, into the folder `onnx` of its own unless another is named; the files.

        export(nearspan.load("runs/mine"))

    They belong to the weights as they are: a model that is trained further is exported again. The memory stays where it
    is, as ONNX Runtime computes what comes before it.
    """
    import_extra("onnxscript", "onnx", "writing ONNX graphs")
    graphs = graphs_of(model)
    target = Path(folder) if folder is not None else onnx_folder(model)
    if target is None or model.path is None:
        raise ConfigError("this model has no folder yet: save it first")
    if not graphs:
        raise ConfigError(
            "there is nothing to export: this model has neither a pretrained encoder nor a head that scores span "
            "vectors by weights of its own"
        )
    target.mkdir(parents=True, exist_ok=True)
    digests = {}
    for name, graph in graphs.items():
        write_file(target / name, [_to_onnx(graph)])
        digests[name] = file_digest(target / name)
    about = {"weights": weights_id(model.path), "files": digests}
    write_file(target / ABOUT, [json.dumps(about, indent=1), "\n"])
    return [target / name for name in graphs]


def _to_onnx(graph: EncoderGraph | SpanGraph) -> bytes:
    sizes: dict[str, Any] = {}
    axes = tuple(
        {axis: sizes.setdefault(name, torch.export.Dim(name, min=1, max=1 << 20)) for axis, name in of_input.items()}
        for of_input in graph.axes
    )
    with torch.no_grad(), _quiet():
        program = torch.onnx.export(
            graph,
            graph.example(),
            input_names=list(graph.inputs),
            output_names=[graph.output],
            dynamic_shapes=axes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    data: bytes = program.model_proto.SerializeToString()
    return data


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
