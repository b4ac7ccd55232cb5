"""Checkpoints: one file, written whole or not at all, that a killed run goes on from. No pickle."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.optim import Optimizer

from nearspan.errors import ModelError
from nearspan.io.model_folder import CHECKPOINT
from nearspan.io.tensors import digest_of, load_tensors, metadata_of, save_tensors

Weights = dict[str, Tensor]


@dataclass
class Progress:
    """How far a run is."""

    fingerprint: str  # of data, recipe and seed: a run only goes on from its own checkpoint
    fixed: str  # digest of what training does not change, which a checkpoint does not hold
    epochs: int = 0  # in all; 0: not yet chosen
    scored: int = 1  # every so many epochs are scored, the last one among them
    epoch: int = 0  # epochs completed
    step: int = 0  # batches completed in the epoch under way
    loss: float = 0.0  # summed over those batches
    seconds: float = 0.0  # spent so far
    best_epoch: int = 0
    best: float = -1.0  # the development score of that epoch
    done: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


def trained_weights(network: nn.Module) -> Weights:
    """The weights that training changes; everything else is built again from data and settings."""
    return {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}


def word_memories(network: nn.Module) -> Weights:
    """What modules have written to themselves (`written_buffers`), as the memory of training words does.

    The weights that wrote it are gone when the next ones learn with it.
    """
    return {
        f"{name}.{part}": getattr(module, part)
        for name, module in network.named_modules()
        for part in getattr(module, "written_buffers", ())
    }


def state_to_keep(network: nn.Module) -> Weights:
    """What makes a trained network: its weights, and the memory that they have learned with."""
    return trained_weights(network) | word_memories(network)


def fixed_digest(network: nn.Module) -> str:
    """Sixteen hexadecimal digits that change with what is built again: frozen word vectors, a frozen encoder."""
    changing = state_to_keep(network)
    return digest_of({name: tensor for name, tensor in network.state_dict().items() if name not in changing})


def write(folder: Path, progress: Progress, network: nn.Module, best: Weights, optimizer: Optimizer) -> None:
    """Write the checkpoint beside the old one and swap them."""
    tensors = {f"network/{name}": tensor for name, tensor in trained_weights(network).items()}
    tensors |= {f"memory/{name}": tensor for name, tensor in word_memories(network).items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": torch.as_tensor(value) for name, value in state.items()}
    try:
        save_tensors(tensors, folder / CHECKPOINT, {"progress": json.dumps(asdict(progress))})
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot write a checkpoint to {folder}: {error}") from error


def read(folder: Path, begun: Progress, network: nn.Module, optimizer: Optimizer) -> tuple[Progress, Weights]:
    """Put network and optimizer where a checkpoint left them, if it is one of the run that has `begun`."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise ModelError(f"nothing to resume in {folder}: there is no {CHECKPOINT}; leave `resume` out to begin")
    try:
        progress = Progress(**json.loads(metadata_of(path)["progress"]))
        tensors = load_tensors(path)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the checkpoint {path} is damaged: {error}") from error
    if progress.fingerprint != begun.fingerprint:
        raise ModelError(
            f"{path} belongs to another run: its data, recipe, settings or seed differ. "
            "Give the same ones to resume, or another `out` to begin anew."
        )
    weights, best = _with_prefix("network/", tensors), _with_prefix("best/", tensors)
    memory = _with_prefix("memory/", tensors)
    fits = _shapes(weights) == _shapes(trained_weights(network)) and _shapes(memory) == _shapes(word_memories(network))
    if not fits or progress.fixed != begun.fixed or (best and _shapes(best) != _shapes(weights | memory)):
        raise ModelError(
            f"the checkpoint {path} does not fit this network: it is damaged, or the word vectors or the "
            "encoder have changed since. Give the same ones to resume, or another `out` to begin anew."
        )
    place = network.state_dict()
    for name, tensor in (weights | memory).items():
        place[name].copy_(tensor)
    state: dict[int, dict[str, Tensor]] = {}
    try:
        for name, tensor in _with_prefix("optimizer/", tensors).items():
            number, key = name.split("/")
            state.setdefault(int(number), {})[key] = tensor
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    except (ValueError, KeyError) as error:
        raise ModelError(f"the checkpoint {path} is damaged: {error}") from error
    device = next(network.parameters()).device
    return progress, {name: tensor.to(device) for name, tensor in best.items()}


def _shapes(weights: Weights) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def _with_prefix(prefix: str, tensors: Weights) -> Weights:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
