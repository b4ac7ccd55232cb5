"""A model whose encoder and span scores ONNX Runtime computes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from nearspan.errors import ConfigError, ModelError, first_line
from nearspan.formats.extras import import_extra
from nearspan.heads import Query
from nearspan.integrations.onnx.graphs import ABOUT, ENCODER, SPANS, onnx_folder
from nearspan.io.model_folder import file_digest
from nearspan.model import Model
from nearspan.model.folder import weights_id


@dataclass
class Session:
    """A graph that is computed on the CPU; it is opened in each process that uses it."""

    path: Path

    @cached_property
    def _session(self) -> Any:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # nothing is reported to anybody unless the user says so
        onnxruntime = import_extra("onnxruntime", "onnx", "runtime='onnx'")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        try:
            return onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has types of its own for what is wrong with a graph
            raise ModelError(f"{self.path} cannot be loaded: {first_line(error)}; export the model again") from error

    def __call__(self, **inputs: Tensor) -> Tensor:
        """The output of the graph."""
        (output,) = self._session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
        return torch.from_numpy(output)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}


@dataclass
class OnnxEncoder:
    """What an encoder of transformers gives, computed by a graph."""

    session: Session

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, output_hidden_states: bool) -> Any:
        """The states [windows, pieces, size] of the last layer, and of each."""
        del output_hidden_states  # it was exported as it is asked for
        layers = self.session(input_ids=input_ids, attention_mask=attention_mask).unbind(2)
        return SimpleNamespace(last_hidden_state=layers[-1], hidden_states=layers)


@dataclass
class OnnxSpans:
    """Label probabilities of a query's candidates, computed by a graph."""

    session: Session

    def __call__(self, query: Query) -> Tensor:
        """P(y|s) [S, 1 + Y] of the candidates."""
        spans = query.candidates
        places = torch.stack([spans.sentence, spans.first, spans.stop], dim=1)
        return self.session(words=query.word_states.contiguous(), spans=places)


def use_onnx(model: Model, folder: Path | None = None) -> Model:
    """Let ONNX Runtime compute a model's encoder and span scores from now on; memory and evidence stay as they are."""
    folder = folder or onnx_folder(model)
    if folder is None or model.path is None or not (folder / ABOUT).is_file():
        raise ModelError(f"there are no ONNX graphs in {folder}: write them with `nearspan export`")
    if model.device.type != "cpu" or model.network.precision != "float32":
        raise ConfigError(
            "`runtime` onnx computes on the CPU, in float32: set `device` to cpu, and `precision` to auto"
        )
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        weights, files = about["weights"], dict(about["files"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / ABOUT} is damaged: export the model again") from error
    if weights != weights_id(model.path):
        raise ModelError(f"the ONNX graphs in {folder} are of other weights: export the model again")
    for name in (ENCODER, SPANS):
        if name in files and (not (folder / name).is_file() or file_digest(folder / name) != files[name]):
            raise ModelError(f"{folder / name} is not as it was exported: export the model again")
    if ENCODER in files and model.network.encoder.transformer is not None:
        model.network.encoder.transformer.read_with(OnnxEncoder(Session(folder / ENCODER)))
    if SPANS in files:
        model.network.span_scores = OnnxSpans(Session(folder / SPANS))
    return model
