"""The training loop."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import torch
from accelerate import Accelerator
from filelock import FileLock, Timeout

from nearspan.config import Recipe, load
from nearspan.device import repeatable, usable_seed
from nearspan.document import Document
from nearspan.encoders import EncodedCorpus
from nearspan.errors import ConfigError, CorpusError, NearspanError
from nearspan.evaluation import Evaluator
from nearspan.heads import SigmoidSettings
from nearspan.io.paths import exists, is_folder, shown
from nearspan.knn.datastore import BASE, found_in
from nearspan.losses import SynonymSource
from nearspan.memory.journal import JOURNAL
from nearspan.model import Model
from nearspan.model.decode import found_joined, found_overlap
from nearspan.model.folder import CARD, CHECKPOINT, CONFIG, ENCODER, RESULT, WEIGHTS, visible
from nearspan.spans import how_many
from nearspan.spans.string_majority import StringMajority
from nearspan.training import checkpoint
from nearspan.training.callbacks import METRICS, TrainingCallback
from nearspan.training.data import TrainingData, fingerprint, refuse_unwritable
from nearspan.training.model_card import card
from nearspan.training.run import Run
from nearspan.training.thresholds import fit_thresholds
from nearspan.training.trainer import Trainer, accelerator_for

LOCK = "training.lock"
REFUSED = (CONFIG, WEIGHTS, CARD, RESULT, CHECKPOINT, METRICS, *BASE, JOURNAL)  # what a new run would write over
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
    watch: TrainingCallback | None = None,
    synonyms: SynonymSource | None = None,
) -> Run:
    """Train a recipe, or the one of this name, on documents and save the model with the best development F1 to `out`.

    For the typing task the best is that with the highest typing accuracy.

    `synonyms` are for recipes that generate them (`losses.generators`): anything with `of(text)`.

    Without development documents the last epoch's model is saved. With `resume` a run that was
    stopped goes on from its checkpoint, and on a CPU ends with the very same weights; a finished one whose memory was
    edited since is refused.
    """
    recipe = load(recipe) if isinstance(recipe, str) else recipe
    train, dev, test = tuple(train), tuple(dev), tuple(test)
    folder, watch, seed = _usable(out), watch or TrainingCallback(), usable_seed(seed)
    accelerator = accelerator_for(recipe, device)
    if not recipe.training.batch and accelerator.num_processes > 1:
        raise ConfigError("a batch of all sentences (training.batch=0) is for one process: give a batch size")
    for split, documents in (("train", train), ("dev", dev), ("test", test)):
        refuse_unwritable(split, documents)
    _refuse(folder, recipe, resume)
    alone = _alone(folder) if accelerator.is_main_process else nullcontext()
    try:
        with alone, repeatable(accelerator.device):
            if accelerator.is_main_process:  # another process may have ended just now
                _refuse(folder, recipe, resume)
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
    watch: TrainingCallback,
    accelerator: Accelerator,
    synonyms: SynonymSource | None,
) -> Run:
    split, typing, width = recipe.splitter(), recipe.suggester.kind == "given", recipe.suggester.max_width
    if typing:
        data = TrainingData.given(train, split, width)
    else:
        head, joining = recipe.head, recipe.fragment_linker is not None
        data = TrainingData.of(train, split, width, head.multilabel, joining, head.tags_words)
    if not data.labels:
        raise NearspanError("the training data holds no entity that this recipe can learn: " + str(data.coverage))
    if "null" in data.labels:
        raise CorpusError(
            "the training data has a label 'null', which is the name of 'no entity' in the JSON of explain, audit and "
            "serve: rename it in the corpus"
        )
    generation = recipe.losses.generators
    alone = generation.pretraining if generation else 0  # epochs that teach the head nothing
    if recipe.training.epochs <= alone:
        raise ConfigError(
            f"losses.generators.pretraining takes {alone} epochs, and training.epochs is {recipe.training.epochs}: "
            "lower the one or raise the other, so that the head learns too"
        )
    watch.begin(recipe, data, folder, accelerator.device, main=accelerator.is_main_process)
    torch.manual_seed(seed)
    others = TrainingData.of([*dev, *test], split, width)
    decoding, spans = recipe.decoding, data.word_spans()
    level = found_overlap(spans) if decoding.overlap == "auto" else decoding.overlap
    joined_level = found_joined(spans) if decoding.joined == "auto" else decoding.joined
    texts = data.span_texts(width, generation, synonyms)
    vocabulary = texts.vocabulary if texts else None
    fragments = data.gold_fragments(width)
    model = Model.from_corpus(
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
    trainer = Trainer(recipe, model.to(accelerator.device), data, texts, fragments, accelerator, seed)
    evaluator = Evaluator(model, dev) if dev else None
    progress = checkpoint.Progress(fingerprint(recipe, data, dev, seed, texts), checkpoint.fixed(model.network))
    best: checkpoint.Weights = {}
    if resume:
        progress, best = checkpoint.read(folder, progress, model.network, trainer.optimizer)
        watch.record(progress)
    while not progress.done:
        trainer.epoch(progress, best, folder, watch)
        began = time.monotonic()
        scored = None
        if evaluator and progress.epoch > alone:
            trainer.refresh()
            scored = evaluator.evaluate()
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
        watch.record(progress)
    with torch.no_grad():
        for name, tensor in checkpoint.kept(model.network).items():
            tensor.copy_(best[name])
    _remember(model, data, trainer.prepared, seed)
    if evaluator and not typing and isinstance(recipe.head, SigmoidSettings) and recipe.head.tuned:
        fit_thresholds(evaluator)
    scores = evaluator.evaluate() if evaluator else None
    tested = Evaluator(model, test).evaluate() if test else None
    data_print, epochs = data.fingerprint(), progress.epoch
    processes, main = accelerator.num_processes, accelerator.is_main_process
    run = Run(model, seed, data_print, progress.best_epoch, epochs, progress.seconds, scores, tested, processes, main)
    if accelerator.is_main_process:
        model.save(folder, card(run, data))
        run.write(folder)
    return run


def _remember(model: Model, data: TrainingData, prepared: EncodedCorpus, seed: int) -> None:
    """Fill the memory: with all training spans for a head that scores with it, else with what `EVIDENCE` holds.

    Whole sentences are kept, those with entities first, drawn by chance.
    """
    network = model.network
    given = prepared.given
    counts = given.counts if given is not None else how_many(prepared.lengths, network.max_width)
    sizes = counts * network.size * 2  # bytes, in half precision
    needed = (
        network.head.uses_memory or network.encoder.word_memory is not None
    )  # recalled words are shown in sentences
    if needed or network.adds_up is not None or int(sizes.sum()) <= EVIDENCE:
        model.remember(data.sentences, data.entities, prepared, data.discontinuous)
        return
    order = random.Random(seed).sample(range(len(data.sentences)), len(data.sentences))
    order.sort(key=lambda sentence: not (data.entities[sentence] or data.discontinuous[sentence]))
    kept = sorted(order[: int((sizes[order].cumsum(0) <= EVIDENCE).sum())])
    entities, discontinuous = [data.entities[i] for i in kept], [data.discontinuous[i] for i in kept]
    model.remember([data.sentences[i] for i in kept], entities, None, discontinuous)


def _refuse(folder: Path, recipe: Recipe, resume: bool) -> None:
    """Refuse a folder that this run would spoil."""
    if resume:
        _refuse_edited(folder)
    else:
        _refuse_used(folder, recipe)


def _refuse_used(folder: Path, recipe: Recipe) -> None:
    found = [name for name in REFUSED if exists(folder / name)]
    if recipe.encoder.transformer is not None and any(visible(folder / ENCODER)):
        found.append(f"{ENCODER}/")  # perhaps the pretrained one, where its folder was given as --out
    if found:
        resume = ", or --resume to go on with it" if CHECKPOINT in found else ""
        raise NearspanError(
            f"{folder} already holds a model or a run: there is {', '.join(found)}. Give another --out{resume}"
        )


def _refuse_edited(folder: Path) -> None:
    """Refuse a finished run whose memory has a journal: saving the model again would bring back what was forgotten."""
    if is_folder(folder) and found_in(folder, JOURNAL).exists():
        raise NearspanError(
            f"nothing to resume in {folder}: its training is finished, and its memory was edited or built anew since, "
            f"which {JOURNAL} tells. Give another --out to train anew"
        )


def _usable(out: Path | str) -> Path:
    """A folder whose model could be opened again."""
    try:
        str(out).encode("utf-8")
    except UnicodeEncodeError:
        raise NearspanError(f"the name of {shown(out)} is not UTF-8, and no model could be read there") from None
    return Path(out)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the folder and keep a second training away from it; one that wrote nothing leaves no folder of its own."""
    new = not exists(folder)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise NearspanError(f"another process is training in {folder}: wait for it, or give another --out") from None
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder} or write to it: {error}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        if new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
