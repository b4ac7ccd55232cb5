"""The steps of training: batches, sampled neighbours, learning rates and checkpoints on the way."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from nearspan import registry
from nearspan.config import Recipe
from nearspan.device import usable_device
from nearspan.encoders import Batch
from nearspan.errors import ConfigError, CorpusError, NearspanError
from nearspan.model import Model
from nearspan.model.network import LabelledBatch
from nearspan.precision import Precision, computes_bf16
from nearspan.training import checkpoint
from nearspan.training.callbacks import TrainingCallback
from nearspan.training.data import TrainingData
from nearspan.training.schedule import linear_share, rate
from nearspan.training.step_graphs import StepGraphs

if TYPE_CHECKING:
    from nearspan.training.budget import Clock

PART = 64  # sentences of a batch of all of them that are read at once


class Trainer:
    """Steps through the epochs. Every draw of chance comes from (seed, epoch, step), so a step can be repeated."""

    def __init__(
        self,
        recipe: Recipe,
        model: Model,
        data: TrainingData,
        accelerator: Accelerator,
        seed: int,
        callbacks: Sequence[TrainingCallback] = (),
    ) -> None:
        self.settings = recipe.training
        self.callbacks = callbacks
        self.logging_steps = min([TrainingCallback.logging_steps, *(each.logging_steps for each in callbacks)])
        self.keeps_checkpoints = all(callback.keeps_checkpoints for callback in callbacks)
        self.model = model
        self.accelerator = accelerator
        self.seed = seed
        self.saved, self.cost = time.monotonic(), 0.0  # when the last checkpoint was written, and how long that took
        self.corpus = model.encode(data.sentences, data.entities, training=True)
        entities, network = data.numbered_entities(), model.network
        self.labels = network.suggester.span_labels(torch.tensor(data.lengths), entities).to(accelerator.device)
        words = network.head.word_targets(data.lengths, entities)
        self.word_targets = words.to(accelerator.device) if words is not None else None
        self.texts, self.fragments = data.texts, data.fragments
        self.optimizer = self._optimizer(recipe)
        self.clip_groups = self._clip_groups()
        generators = recipe.losses.generators
        self.pretraining = generators.pretraining if generators else 0  # epochs in which generators learn alone
        self.network: nn.Module = accelerator.prepare_model(network)
        # a step may be a CUDA graph: one process, one part of a batch a step, and nothing that waits
        alone = accelerator.device.type == "cuda" and accelerator.num_processes == 1
        capturable = alone and self.settings.batch > 0 and network.is_capturable
        self.graphs = StepGraphs(list(network.parameters()), self._backward) if capturable else None
        self.neighbours = network.head.training_neighbours
        self.labelled, self.episodes = data.labelled_sentences, data.episodes
        self.clock: Clock | None = None  # where a training has to end in time

    def _optimizer(self, recipe: Recipe) -> torch.optim.Optimizer:
        """Trains the weights at their highest learning rates: a pretrained encoder has one of its own."""
        network, transformer = self.model.network, recipe.encoder.transformer
        pretrained = set(network.pretrained_parameters())
        tuned = transformer.learning_rate if transformer else self.settings.learning_rate
        by_peak: dict[float, list[nn.Parameter]] = {}
        for parameter in network.parameters():
            peak = tuned if parameter in pretrained else self.settings.learning_rate
            if parameter.requires_grad:
                by_peak.setdefault(peak, []).append(parameter)
        groups: list[dict[str, Any]] = [{"params": weights, "peak": peak} for peak, weights in by_peak.items()]
        decay, fused = self.settings.weight_decay, self.accelerator.device.type in ("cpu", "cuda")
        if self.settings.optimizer == "adamw":
            return torch.optim.AdamW(groups, weight_decay=decay, fused=fused)
        if self.settings.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=0.0, momentum=self.settings.momentum, weight_decay=decay, fused=fused)
        return torch.optim.Adam(groups, fused=fused)

    def _clip_groups(self) -> list[list[nn.Parameter]]:
        """The weights whose gradients are clipped together: those of generators apart, as gamma does not weigh them."""
        generators = self.model.network.generators
        generating = set(generators.parameters()) if generators is not None else set()
        weights = [weight for weight in self.model.network.parameters() if weight.requires_grad]
        groups = [[weight for weight in weights if (weight in generating) == apart] for apart in (False, True)]
        return [group for group in groups if group]

    def refresh(self) -> None:
        """Let the datastore follow the weights, for heads that predict from it."""
        if not self.model.network.head.uses_datastore:
            return
        if self.model.datastore is None:
            self.model.build_datastore(self.labelled, self.corpus)
        else:
            self.model.refresh_datastore(self.corpus)

    def epoch(self, progress: checkpoint.Progress, best: checkpoint.Weights, folder: Path) -> float:
        """One pass over the training sentences, from where `progress` stands to the epoch's end; its mean loss."""
        batches = self._batches(progress.epoch)
        for callback in self.callbacks:
            callback.on_epoch_begin(progress, len(batches))
        if progress.epoch == self.pretraining and progress.step == 0:
            self.optimizer.state.clear()  # what generators taught it alone would hold the next, smaller gradients back
        began = time.monotonic()
        before = progress.seconds
        total = torch.zeros((), device=self.accelerator.device)
        for step in range(progress.step, len(batches)):
            for group in self.optimizer.param_groups:
                group["lr"] = self._rate(group["peak"], progress.epoch, step, len(batches))
            total += self._step(batches[step], progress.epoch, step, len(batches))
            if (step + 1) % self.logging_steps == 0 or step + 1 == len(batches):
                progress.loss += float(total)
                total.zero_()
                if not math.isfinite(progress.loss):
                    raise NearspanError(
                        f"the loss is {progress.loss} in epoch {progress.epoch + 1}: lower training.learning_rate"
                    )
                progress.step = step + 1
                progress.seconds = before + time.monotonic() - began
                for callback in self.callbacks:
                    callback.on_step(progress, len(batches))
                if time.monotonic() - self.saved > 60 * self.settings.checkpoint_minutes:
                    self.write_checkpoint(progress, best, folder)
                if self.clock is not None:
                    epochs = progress.epoch + progress.step / len(batches)
                    self.clock.look(epochs, round(epochs * len(batches)))
                if self.is_out_of_time:
                    break
        progress.epoch += 1
        loss, progress.loss, progress.step = progress.loss / max(progress.step, 1), 0.0, 0
        return loss

    @property
    def is_out_of_time(self) -> bool:
        """Whether a training that has to end in time has no more for steps."""
        return self.clock is not None and self.clock.share == 1.0

    def _rate(self, peak: float, epoch: int, step: int, steps: int) -> float:
        """The learning rate of a step, by its place in the training or, where that is behind, by the time."""
        share = self.clock.share if self.clock is not None else None
        if share is None or self.settings.schedule != "linear":
            return rate(self.settings, peak, epoch, step, steps, self.pretraining)
        return linear_share(peak, share, self.settings.warmup)

    def time_epoch(self, seconds: float) -> float:
        """How long the steps of an epoch take, going by so many seconds of them. They change no weight."""
        batches = self._batches(0)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.0
        sizes = [sum(len(ids) * int(self.corpus.lengths[ids].max()) for ids in parts) for parts in batches]
        self._step(batches[0], 0, 0, len(batches))  # the first one is slower
        began, words = time.perf_counter(), 0
        for step in range(len(batches)):
            self._step(batches[step], 0, step, len(batches))
            words += sizes[step]
            if time.perf_counter() - began > seconds:
                break
        self.optimizer.state.clear()
        return (time.perf_counter() - began) * sum(sizes) / words

    def checkpoint_is_due(self) -> bool:
        """Whether an epoch's end is worth a checkpoint: writing them takes a tenth of the time at most."""
        return time.monotonic() - self.saved >= 10 * self.cost

    def write_checkpoint(self, progress: checkpoint.Progress, best: checkpoint.Weights, folder: Path) -> None:
        """Write a checkpoint, once for all processes, where the run may be resumed."""
        if not self.keeps_checkpoints:
            return
        began = time.monotonic()
        if self.accelerator.is_main_process:
            checkpoint.write(folder, progress, self.model.network, best, self.optimizer)
            for callback in self.callbacks:
                callback.on_checkpoint(progress)
        self.saved = time.monotonic()
        self.cost = self.saved - began

    def _batches(self, epoch: int) -> list[list[Tensor]]:
        """This process's steps of an epoch, a batch each; all processes get equally many.

        A batch of all sentences is one step in several parts, whose gradients are added up.
        """
        generator = torch.Generator().manual_seed(_seed(self.seed, epoch))
        size = self.settings.batch or PART
        batches = self.episodes.batches(self.corpus, size, generator)
        if not self.settings.batch:
            return [batches]
        rank, count = self.accelerator.process_index, self.accelerator.num_processes
        full = batches + batches[: -len(batches) % count]
        return [[ids] for ids in full[rank::count]]

    def _step(self, parts: list[Tensor], epoch: int, step: int, steps: int) -> Tensor:
        done = (epoch + step / steps) / self.settings.epochs  # of all training
        chance = _seed(self.seed, epoch, step, self.accelerator.process_index)
        torch.manual_seed(chance)  # dropout, and what is drawn
        if not self.model.network.training:  # asking is quicker than telling every part of it
            self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        if self.graphs is not None:
            total = self.graphs(self.corpus.batch(parts[0]))
        else:
            total = self._backward_parts(parts, chance, epoch, done)
        if self.settings.clip:
            for weights in self.clip_groups:
                nn.utils.clip_grad_norm_(weights, self.settings.clip)
        self.optimizer.step()
        return total

    def _backward_parts(self, parts: list[Tensor], chance: int, epoch: int, done: float) -> Tensor:
        """The loss of a step, whose parts count by their sentences, and the gradients of the weights."""
        count, total = sum(map(len, parts)), torch.zeros((), device=self.accelerator.device)
        for ids in parts:
            neighbours = self._sample_neighbours(ids, chance) if self.neighbours else None
            total += self._backward(self.corpus.batch(ids), neighbours, epoch, done, len(ids) / count)
        return total

    def _backward(
        self,
        batch: Batch,
        neighbours: LabelledBatch | None = None,
        epoch: int = 0,
        done: float = 0.0,
        weight: float = 1.0,
    ) -> Tensor:
        """The loss of a batch, times a weight, and the gradients of the weights from it."""
        with self.accelerator.autocast():
            loss: Tensor = self.network(self._label(batch), neighbours, epoch, done)
        loss = loss * weight
        self.accelerator.backward(loss)
        return loss.detach()

    def _sample_neighbours(self, ids: Tensor, chance: int) -> LabelledBatch:
        """K training sentences at random, none of the batch's own."""
        count = len(self.corpus)
        others = self.episodes.neighbours(ids.tolist(), self.neighbours, random.Random(chance))
        if not others and count == 1:
            raise CorpusError(
                "this head compares a sentence with others, and the training data has one alone: add sentences"
            )
        if not others:
            raise ConfigError(
                f"this head needs more training sentences than one batch holds, and there are {count}: "
                f"set training.batch to a number from 1 to {count - 1}"
            )
        return self._label(self.corpus.batch(torch.tensor(others)))

    def _label(self, batch: Batch) -> LabelledBatch:
        return LabelledBatch(batch, self.labels, self.texts, self.fragments, self.word_targets)


def _seed(*numbers: int) -> int:
    return random.Random(repr(numbers)).getrandbits(62)


def frozen_precision(recipe: Recipe, device: torch.device) -> Precision:
    """The precision in which a frozen encoder reads a corpus, once before training: bf16 where a CPU computes in it.

    What words recall stays in float32: evidence for it lists cosines with states that are read again later.
    """
    transformer, precision = recipe.encoder.transformer, recipe.training.precision
    frozen = transformer is not None and transformer.frozen and recipe.encoder.word_memory is None
    quick = frozen and precision == "auto" and device.type == "cpu" and computes_bf16()
    return "bf16" if quick else "float32"


def accelerator_for(recipe: Recipe, device: str) -> Accelerator:
    """Devices and precision; several processes when started by `accelerate launch`."""
    place = usable_device(device)
    precision = recipe.training.precision
    tuned = recipe.encoder.transformer is not None and not recipe.encoder.transformer.frozen
    if precision == "auto":
        precision = "bf16" if place.type == "cuda" and tuned else "float32"
    if precision == "bf16":
        try:
            ones = torch.ones(2, 2, device=place, dtype=torch.bfloat16)
            nn.functional.linear(ones, ones)
        except RuntimeError as error:
            raise ConfigError(f"{place} cannot compute in bf16: set training.precision to float32") from error
    if place.type == "cuda" and place.index is not None:
        torch.cuda.set_device(place)
    AcceleratorState._reset_state(reset_partial_state=True)  # a process may train more than once
    # a batch of one-word sentences has no wide spans, and what reads these then gets no gradient; a head over words
    # reads no spans at all
    representation = registry.part("representation", recipe.representation.kind)
    may_skip = representation.may_skip_weights or registry.part("head", recipe.head.kind).reads_words
    # buffers are the same everywhere: what is pretrained, and what each process remembers of all training data
    unused = DistributedDataParallelKwargs(find_unused_parameters=may_skip, broadcast_buffers=False)
    mixed = "bf16" if precision == "bf16" else "no"
    return Accelerator(cpu=place.type == "cpu", mixed_precision=mixed, kwargs_handlers=[unused])
