"""The training loop."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from nearspan.decoding import found_joined, found_overlap
from nearspan.device import repeatable, usable_device, usable_seed
from nearspan.document import Document
from nearspan.encoders import Prepared
from nearspan.errors import ConfigError, CorpusError, NearspanError
from nearspan.evaluation import Judge, TypingJudge
from nearspan.folder import CARD, CHECKPOINT, CONFIG, ENCODER, RESULT, WEIGHTS, visible
from nearspan.heads import Instances, SigmoidSettings
from nearspan.memory.journal import JOURNAL
from nearspan.memory.store import BASE, found_in
from nearspan.model import Model
from nearspan.network import Labelled
from nearspan.objectives import SpanTexts, SynonymSource
from nearspan.paths import exists, is_folder
from nearspan.recipes import Recipe, load
from nearspan.spans import GoldFragments, how_many
from nearspan.strings import StringMajority
from nearspan.training import checkpoint
from nearspan.training.card import card
from nearspan.training.data import TrainingData, fingerprint, refuse_unwritable
from nearspan.training.run import Run
from nearspan.training.schedule import rate
from nearspan.training.thresholds import fit_thresholds
from nearspan.training.watch import Watch

PART = 64  # sentences of a batch of all of them that are read at once
REFUSED = (CONFIG, WEIGHTS, CARD, RESULT, CHECKPOINT, *BASE, JOURNAL)  # what a new run would write over or remove
EVIDENCE = 2**30  # bytes of vectors that a model keeps only to show what a span is near to


def train(
    recipe: Recipe | str,
    train: Sequence[Document],
    dev: Sequence[Document] = (),
    test: Sequence[Document] = (),
    *,
    out: Path | str,
    seed: int = 0,
    device: str = "",
    resume: bool = False,
    watch: Watch | None = None,
    synonyms: SynonymSource | None = None,
) -> Run:
    """Train a recipe, or the one of this name, on documents and save the model with the best development F1 to `out`.

    For the typing task the best is that with the highest typing accuracy.

    `synonyms` are for recipes that generate them (`objective.generation`): anything with `of(text)`.

    Without development documents the last epoch's model is saved. With `resume` a run that was
    stopped goes on from its checkpoint, and on a CPU ends with the very same weights; a finished one whose memory was
    edited since is refused.
    """
    recipe = load(recipe) if isinstance(recipe, str) else recipe
    folder, watch, seed = Path(out), watch or Watch(), usable_seed(seed)
    accelerator = _accelerator(recipe, device)
    if not recipe.training.batch and accelerator.num_processes > 1:
        raise ConfigError("a batch of all sentences (training.batch=0) is for one process: give a batch size")
    for split, documents in (("train", train), ("dev", dev), ("test", test)):
        refuse_unwritable(split, documents)
    if resume:
        _refuse_edited(folder)
    else:
        _refuse_used(folder, recipe)
    try:
        with repeatable(accelerator.device):
            run = _train(recipe, train, dev, test, folder, seed, resume, watch, accelerator, synonyms)
    finally:
        watch.close()
    watch.end(run)
    return run


def _train(
    recipe: Recipe,
    train: Sequence[Document],
    dev: Sequence[Document],
    test: Sequence[Document],
    folder: Path,
    seed: int,
    resume: bool,
    watch: Watch,
    accelerator: Accelerator,
    synonyms: SynonymSource | None,
) -> Run:
    split, typing, width = recipe.splitter(), recipe.task == "typing", recipe.candidates.max_width
    if typing:
        data = TrainingData.given(train, split, width)
    else:
        head, joining = recipe.head, recipe.joining is not None
        data = TrainingData.of(train, split, width, head.multilabel, joining, head.tags_words)
    if not data.labels:
        raise NearspanError("the training data holds no entity that this recipe can learn: " + str(data.coverage))
    if "null" in data.labels:
        raise CorpusError(
            "the training data has a label 'null', which is the name of 'no entity' in the JSON of explain, audit and "
            "serve: rename it in the corpus"
        )
    generation = recipe.objective.generation
    alone = generation.pretraining if generation else 0  # epochs that teach the head nothing
    if recipe.training.epochs <= alone:
        raise ConfigError(
            f"objective.generation.pretraining takes {alone} epochs, and training.epochs is {recipe.training.epochs}: "
            "lower the one or raise the other, so that the head learns too"
        )
    if accelerator.is_main_process:
        _make(folder)
    watch.begin(recipe, data, folder, accelerator.device, main=accelerator.is_main_process)
    torch.manual_seed(seed)
    others = TrainingData.of([*dev, *test], split, width)
    decoding, spans = recipe.decoding, data.word_spans()
    level = found_overlap(spans) if decoding.overlap == "auto" else decoding.overlap
    joined_level = found_joined(spans) if decoding.joined == "auto" else decoding.joined
    texts = data.span_texts(width, generation, synonyms)
    vocabulary = texts.vocabulary if texts else None
    fragments = data.gold_fragments(width)
    model = Model.learn(
        recipe,
        data.sentences,
        data.labels,
        others.sentences,
        level,
        vocabulary,
        fragments.names if fragments else (),
        joined_level,
        data.entities,
    )
    if typing:
        model.strings = StringMajority.of(train)
    trainer = _Trainer(recipe, model.to(accelerator.device), data, texts, fragments, accelerator, seed)
    judge = _judge(model, dev) if dev else None
    progress = checkpoint.Progress(fingerprint(recipe, data, dev, seed, texts), checkpoint.fixed(model.network))
    best: checkpoint.Weights = {}
    if resume:
        progress, best = checkpoint.read(folder, progress, model.network, trainer.optimizer)
    while not progress.done:
        trainer.epoch(progress, best, folder, watch)
        began = time.monotonic()
        scored = None
        if judge and progress.epoch > alone:
            trainer.refresh()
            scored = judge.evaluate()
        score = scored.value if scored else -1.0
        if scored is None or score > progress.best:
            progress.best, progress.best_epoch = score, progress.epoch
            best = checkpoint.copied(checkpoint.kept(model.network))
        waited = progress.epoch - max(progress.best_epoch, alone)
        patience = recipe.training.patience
        progress.done = progress.epoch >= recipe.training.epochs or (patience > 0 and waited >= patience)
        if not progress.done:  # what was learned with one memory is scored with it; the next epoch gets a new one
            model.network.encoder.write(trainer.prepared)
        progress.seconds += time.monotonic() - began
        watch.epoch(progress, scored)
        if watch.checkpoints and (progress.done or trainer.due()):
            trainer.write(progress, best, folder)
    with torch.no_grad():
        for name, tensor in checkpoint.kept(model.network).items():
            tensor.copy_(best[name])
    _remember(model, data, trainer.prepared, seed)
    if isinstance(judge, Judge) and isinstance(recipe.head, SigmoidSettings) and recipe.head.tuned:
        fit_thresholds(judge)
    scores = judge.evaluate() if judge else None
    tested = _judge(model, test).evaluate() if test else None
    data_print, epochs = data.fingerprint(), progress.epoch
    processes, main = accelerator.num_processes, accelerator.is_main_process
    run = Run(model, seed, data_print, progress.best_epoch, epochs, progress.seconds, scores, tested, processes, main)
    if accelerator.is_main_process:
        model.save(folder, card(run, data))
        run.write(folder)
    return run


def _judge(model: Model, documents: Sequence[Document]) -> Judge | TypingJudge:
    return TypingJudge(model, documents) if model.typing else Judge(model, documents)


def _remember(model: Model, data: TrainingData, prepared: Prepared, seed: int) -> None:
    """Fill the memory: with all training spans for a head that scores with it, else with what `EVIDENCE` holds.

    Whole sentences are kept, those with entities first, drawn by chance.
    """
    network = model.network
    given = prepared.given
    counts = given.counts if given is not None else how_many(prepared.lengths, network.max_width)
    sizes = counts * network.size * 2  # bytes, in half precision
    needed = network.head.uses_memory or network.encoder.recall is not None  # recalled words are shown in sentences
    if needed or network.adds_up is not None or int(sizes.sum()) <= EVIDENCE:
        model.remember(data.sentences, data.entities, prepared, data.discontinuous)
        return
    order = random.Random(seed).sample(range(len(data.sentences)), len(data.sentences))
    order.sort(key=lambda sentence: not (data.entities[sentence] or data.discontinuous[sentence]))
    kept = sorted(order[: int((sizes[order].cumsum(0) <= EVIDENCE).sum())])
    entities, discontinuous = [data.entities[i] for i in kept], [data.discontinuous[i] for i in kept]
    model.remember([data.sentences[i] for i in kept], entities, None, discontinuous)


class _Trainer:
    """Steps through the epochs. Every draw of chance comes from (seed, epoch, step), so a step can be repeated."""

    def __init__(
        self,
        recipe: Recipe,
        model: Model,
        data: TrainingData,
        texts: SpanTexts | None,
        fragments: GoldFragments | None,
        accelerator: Accelerator,
        seed: int,
    ) -> None:
        self.settings = recipe.training
        self.model = model
        self.accelerator = accelerator
        self.seed = seed
        self.saved, self.cost = time.monotonic(), 0.0  # when the last checkpoint was written, and how long that took
        self.prepared = model.prepare(data.sentences, data.entities, training=True)
        labels = data.given_labels() if model.typing else data.span_labels(model.network.max_width)
        self.labels = labels.to(accelerator.device)
        self.tags = data.word_tags().to(accelerator.device) if recipe.head.tags_words else None
        self.texts, self.fragments = texts, fragments
        self.optimizer = self._optimizer(recipe)
        self.weights = [weight for weight in model.network.parameters() if weight.requires_grad]
        self.network: nn.Module = accelerator.prepare_model(model.network)
        head = model.network.head
        self.neighbours = head.settings.neighbours if isinstance(head, Instances) else 0
        if self.neighbours:
            model.remember(data.sentences, data.entities, self.prepared, data.discontinuous)

    def _optimizer(self, recipe: Recipe) -> torch.optim.Optimizer:
        groups, fused = self._groups(recipe), self.accelerator.device.type == "cuda"
        decay = self.settings.weight_decay
        if self.settings.optimizer == "adamw":
            return torch.optim.AdamW(groups, weight_decay=decay, fused=fused)
        if self.settings.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=0.0, momentum=self.settings.momentum, weight_decay=decay, fused=fused)
        return torch.optim.Adam(groups, fused=fused)

    def _groups(self, recipe: Recipe) -> list[dict[str, Any]]:
        """The weights to train with their highest learning rates: a pretrained encoder has one of its own."""
        network, transformer = self.model.network, recipe.encoder.transformer
        pretrained = set(network.pretrained())
        tuned = transformer.learning_rate if transformer else self.settings.learning_rate
        groups: dict[float, list[nn.Parameter]] = {}
        for parameter in network.parameters():
            peak = tuned if parameter in pretrained else self.settings.learning_rate
            if parameter.requires_grad:
                groups.setdefault(peak, []).append(parameter)
        return [{"params": parameters, "peak": peak} for peak, parameters in groups.items()]

    def refresh(self) -> None:
        """Let the memory follow the weights, for heads that score with it."""
        if self.neighbours:
            self.model.refresh(self.prepared)

    def epoch(self, progress: checkpoint.Progress, best: checkpoint.Weights, folder: Path, watch: Watch) -> None:
        """One pass over the training sentences, from where `progress` stands to the epoch's end."""
        batches = self._batches(progress.epoch)
        began = time.monotonic()
        before = progress.seconds
        total = torch.zeros((), device=self.accelerator.device)
        for step in range(progress.step, len(batches)):
            for group in self.optimizer.param_groups:
                group["lr"] = rate(self.settings, group["peak"], progress.epoch, step, len(batches))
            total += self._step(batches[step], progress.epoch, step, len(batches))
            if (step + 1) % watch.every == 0 or step + 1 == len(batches):
                progress.loss += float(total)
                total.zero_()
                if not math.isfinite(progress.loss):
                    raise NearspanError(
                        f"the loss is {progress.loss} in epoch {progress.epoch + 1}: lower training.learning_rate"
                    )
                progress.step = step + 1
                progress.seconds = before + time.monotonic() - began
                watch.step(progress, len(batches))
                minutes = (time.monotonic() - self.saved) / 60
                if watch.checkpoints and minutes > self.settings.checkpoint_minutes:
                    self.write(progress, best, folder)
        progress.epoch += 1
        watch.loss, progress.loss, progress.step = progress.loss / len(batches), 0.0, 0

    def due(self) -> bool:
        """Whether an epoch's end is worth a checkpoint: writing them takes a tenth of the time at most."""
        return time.monotonic() - self.saved >= 10 * self.cost

    def write(self, progress: checkpoint.Progress, best: checkpoint.Weights, folder: Path) -> None:
        """Write a checkpoint, once for all processes."""
        began = time.monotonic()
        if self.accelerator.is_main_process:
            checkpoint.write(folder, progress, self.model.network, best, self.optimizer)
        self.saved = time.monotonic()
        self.cost = self.saved - began

    def _batches(self, epoch: int) -> list[list[Tensor]]:
        """This process's steps of an epoch, a batch each; all processes get equally many.

        A batch of all sentences is one step in several parts, whose gradients are added up.
        """
        generator = torch.Generator().manual_seed(_chance(self.seed, epoch))
        size = self.settings.batch or PART
        batches = [[ids] for ids in self.prepared.buckets(size, generator)]
        if not self.settings.batch:
            return [[ids for batch in batches for ids in batch]]
        rank, count = self.accelerator.process_index, self.accelerator.num_processes
        full = batches + batches[: -len(batches) % count]
        return full[rank::count]

    def _step(self, parts: list[Tensor], epoch: int, step: int, steps: int) -> Tensor:
        done = (epoch + step / steps) / self.settings.epochs  # of all training
        chance = _chance(self.seed, epoch, step, self.accelerator.process_index)
        torch.manual_seed(chance)  # dropout, and what is drawn
        if not self.model.network.training:  # asking is quicker than telling every part of it
            self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        count, total = sum(map(len, parts)), torch.zeros((), device=self.accelerator.device)
        for ids in parts:
            neighbours = self._labelled(self._sampled(ids, chance)) if self.neighbours else None
            with self.accelerator.autocast():
                loss: Tensor = self.network(self._labelled(ids), neighbours, epoch, done)
            loss = loss * (len(ids) / count)  # the loss is a mean over sentences
            self.accelerator.backward(loss)
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.weights, self.settings.clip)
        self.optimizer.step()
        return total

    def _sampled(self, ids: Tensor, chance: int) -> Tensor:
        """K training sentences at random, none of the batch's own."""
        count = len(self.prepared)
        own = set(ids.tolist())
        drawn = random.Random(chance).sample(range(count), min(count, self.neighbours + len(own)))
        others = [one for one in drawn if one not in own][: self.neighbours]
        if not others:
            raise _alone(count)
        return torch.tensor(others)

    def _labelled(self, ids: Tensor) -> Labelled:
        return Labelled(self.prepared.batch(ids), self.labels, self.texts, self.fragments, self.tags)


def _alone(count: int) -> NearspanError:
    """What to say where a batch holds all training sentences, so that the instance head has none to compare with."""
    if count == 1:
        return CorpusError(
            "the instance head compares a sentence with others, and the training data has one alone: add sentences"
        )
    return ConfigError(
        f"the instance head needs more training sentences than one batch holds, and there are {count}: "
        f"set training.batch to a number from 1 to {count - 1}"
    )


def _chance(*numbers: int) -> int:
    """One seed from several numbers."""
    return random.Random(repr(numbers)).getrandbits(62)


def _accelerator(recipe: Recipe, device: str) -> Accelerator:
    """Devices and precision; several processes when started by `accelerate launch`."""
    place = usable_device(device)
    wanted = recipe.training.precision
    tuned = recipe.encoder.transformer is not None and not recipe.encoder.transformer.frozen
    if wanted == "auto":
        wanted = "bf16" if place.type == "cuda" and tuned else "float32"
    if place.type == "cuda" and place.index is not None:
        torch.cuda.set_device(place)
    AcceleratorState._reset_state(reset_partial_state=True)  # a process may train more than once
    # a batch of one-word sentences has no wide spans, and what reads these then gets no gradient; a head over words
    # reads no spans at all
    some = recipe.representation.kind in ("deep", "pooling") or recipe.head.tags_words
    # buffers are the same everywhere: what is pretrained, and what each process remembers of all training data
    unused = DistributedDataParallelKwargs(find_unused_parameters=some, broadcast_buffers=False)
    precision = "bf16" if wanted == "bf16" else "no"
    return Accelerator(cpu=place.type == "cpu", mixed_precision=precision, kwargs_handlers=[unused])


def _refuse_used(folder: Path, recipe: Recipe) -> None:
    found = [name for name in REFUSED if exists(folder / name)]
    if recipe.encoder.transformer is not None and any(visible(folder / ENCODER)):
        found.append(f"{ENCODER}/")  # perhaps the pretrained one, where its folder was given as --out
    if found:
        raise NearspanError(
            f"{folder} already holds a model or a run: there is {', '.join(found)}. "
            "Give another --out, or --resume to go on with it"
        )


def _refuse_edited(folder: Path) -> None:
    """Refuse a finished run whose memory has a journal: saving the model again would bring back what was forgotten."""
    if is_folder(folder) and found_in(folder, JOURNAL).exists():
        raise NearspanError(
            f"nothing to resume in {folder}: its training is finished, and its memory was edited or built anew since, "
            f"which {JOURNAL} tells. Give another --out to train anew"
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder}: {error}") from error
