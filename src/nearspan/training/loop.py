"""The training loop."""

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch

from nearspan.config import Recipe, TrainingSettings
from nearspan.device import repeatable, usable_seed
from nearspan.document import Document
from nearspan.encoders import EncodedCorpus
from nearspan.errors import ConfigError, CorpusError, NearspanError
from nearspan.evaluation import Evaluation, Evaluator
from nearspan.formats import Documents
from nearspan.losses import SynonymSource
from nearspan.model import Model
from nearspan.model.decode import least_linked_overlap, least_overlap
from nearspan.model.folder import weights_id
from nearspan.model.growth import grow
from nearspan.shares import shared_out
from nearspan.spans import CandidateRules, LabelledSentences, StringMajority
from nearspan.training import checkpoint
from nearspan.training.budget import Clock, plan_epochs
from nearspan.training.callbacks import MetricsFile, ProgressBar, TrainingCallback
from nearspan.training.checkpoint import Progress
from nearspan.training.corpora import Corpora, all_documents, hold_out_of_each, read_corpora
from nearspan.training.data import TrainingData, digest, fingerprint, refuse_unwritable
from nearspan.training.folder import lock_folder, refuse_spoiling, usable_folder
from nearspan.training.run import Run, model_card
from nearspan.training.start import starting_recipe
from nearspan.training.thresholds import fit_thresholds, fit_times
from nearspan.training.trackers import Trackers
from nearspan.training.trainer import Trainer, accelerator_for, frozen_precision
from nearspan.training.warm_start import Learned, WarmStart, note_training, take_over_edits

logger = logging.getLogger(__name__)

LOCK = "training.lock"
EVIDENCE = 2**30  # bytes of vectors that a model keeps only to show what a span is near to


def train(
    recipe: Recipe | str = "",
    train: Documents | Mapping[str, Documents] = (),
    dev: Documents | Mapping[str, Documents] = (),
    test: Documents | Mapping[str, Documents] = (),
    *,
    out: Path | str,
    from_model: Path | str | None = None,
    replace_memory: bool = False,
    minutes: float | None = None,
    seed: int = 0,
    device: str = "",
    resume: bool = False,
    callbacks: Sequence[TrainingCallback] = (),
    track: Sequence[str] = (),
    synonyms: SynonymSource | None = None,
) -> Run:
    """Train a recipe, or the one of this name, on documents and save the model with the best development F1 to `out`.

        nearspan.train(train="train.conll", out="runs/mine", minutes=10)

    Without a recipe it is `start`, or `start-static` where no packaged encoder is installed. Where spans are given, the
    best model is that with the highest accuracy.

    With `minutes` there are as many epochs as take so long, preparation included, and no more than the recipe has;
    `start` has 10 minutes. 0 trains all epochs of the recipe. Where the machine gets slower, the last one is cut short.

    `callbacks` are called on the way (`TrainingCallback`); `track` names trackers to send the metrics to: tensorboard,
    wandb, mlflow. `synonyms` are for recipes that generate them (`losses.generators`): anything with `of(text)`.

    Without development documents some of the training documents are held out where the recipe says so
    (`training.dev_share`, as in `start`); else the last epoch's model is saved. With `resume` a run that was
    stopped goes on from its checkpoint, and on a CPU ends with the very same weights; a finished one whose memory was
    edited since is refused.
    """
    began = time.perf_counter()
    origin = None if from_model is None else Path(from_model)
    recipe = recipe if isinstance(recipe, Recipe) else starting_recipe(recipe, origin)
    if minutes is not None:
        recipe = recipe.override([f"training.minutes={float(minutes)}"], "`minutes`")
    folder, seed = usable_folder(out), usable_seed(seed)
    corpora = read_corpora(train)
    dev, test = (all_documents(read_corpora(split)) for split in (dev, test))
    accelerator = accelerator_for(recipe, device)
    hooks = _assemble_callbacks(callbacks, track) if accelerator.is_main_process else []
    if not recipe.training.batch and accelerator.num_processes > 1:
        raise ConfigError("a batch of all sentences (training.batch=0) is for one process: give a batch size")
    for split, documents in (("train", all_documents(corpora)), ("dev", dev), ("test", test)):
        refuse_unwritable(split, documents)
    refuse_spoiling(folder, recipe, resume)
    warm = WarmStart.read(origin, recipe, replace_memory) if origin is not None else None
    if not dev:
        corpora, dev = hold_out_of_each(corpora, recipe.training.dev_share, seed)
        count = sum(len(document.entities) for document in dev)
        message = f"held out for development: {len(dev):,} documents with {count:,} entities, seed {seed}"
        if not dev:
            message = "too few sentences to hold some out for development: the last epoch's model is kept"
        for callback in hooks if recipe.training.dev_share else ():
            callback.on_message(message)
    busy = f"another process is training in {folder}: wait for it, or give another `out`"
    lock = lock_folder(folder, LOCK, busy) if accelerator.is_main_process else nullcontext()
    try:
        with lock, repeatable(accelerator.device):
            if accelerator.is_main_process:  # another process may have ended just now
                refuse_spoiling(folder, recipe, resume)
            data = _training_data(recipe, corpora, synonyms, warm)
            for callback in hooks:
                callback.on_train_begin(recipe, data, folder, accelerator)
            torch.manual_seed(seed)
            model = _starting_model(recipe, data, [*dev, *test], warm)
            if model.classifies_given_spans:
                model.strings = StringMajority.of(data.documents)
            model.to(accelerator.device).set_precision(frozen_precision(recipe, accelerator.device))
            trainer = Trainer(recipe, model, data, accelerator, seed, hooks)
            if warm is not None:
                model.network.encoder.write_word_memory(trainer.corpus)
            evaluator = Evaluator(model, dev) if dev else None
            begins_with = weights_id(warm.path) if warm is not None else ""
            run_id = fingerprint(recipe, data, dev, seed, begins_with)
            progress = Progress(run_id, checkpoint.fixed_digest(model.network))
            plan = partial(plan_epochs, trainer, evaluator, len(test) / max(len(dev), 1), began)
            progress, scores = _train_epochs(trainer, evaluator, progress, folder, resume, plan)
            head, settings = model.network.head, {"epochs": progress.epochs, "minutes": 0.0}
            model.recipe = recipe.model_copy(update={"training": recipe.training.model_copy(update=settings)})
            if scores is None or not head.uses_datastore or head.tunable_thresholds is not None:
                with shared_out():
                    _fill_datastore(model, data, trainer.corpus, seed)
                if evaluator is not None and head.tunable_thresholds is not None and not model.classifies_given_spans:
                    fit_thresholds(evaluator, head.tunable_thresholds)
                with shared_out():
                    scores = evaluator.evaluate() if evaluator else None
            if evaluator is not None and scores is not None and head.tunes_times:
                with shared_out():
                    scores = fit_times(evaluator, scores)
            learned = take_over_edits(model, warm, data) if warm is not None else Learned()
            if scores is not None:
                _calibrate(model, dev, scores)
            with shared_out():
                tested = Evaluator(model, test).evaluate() if test else None
            place = (progress.best_epoch, progress.epoch, progress.seconds)
            processes = (accelerator.num_processes, accelerator.is_main_process)
            origin_line = warm.describe(data, progress.epoch, learned) if warm is not None else ""
            run = Run(model, seed, digest(data.documents), *place, scores, tested, *processes, origin_line)
            if accelerator.is_main_process:
                model.save(folder, model_card(run, data))
                if warm is not None:
                    note_training(folder, model, warm, origin_line, learned)
                run.write(folder)
            accelerator.wait_for_everyone()  # a process that ends before the model is saved may take the others with it
        for callback in hooks:
            callback.on_train_end(run)
    finally:
        for callback in hooks:
            callback.close()
    return run


def _assemble_callbacks(callbacks: Sequence[TrainingCallback], track: Sequence[str]) -> list[TrainingCallback]:
    """These callbacks with the metrics file, a log where none of them shows progress, and trackers."""
    log = [] if any(callback.shows_progress for callback in callbacks) else [ProgressBar()]
    return [MetricsFile(), *log, *callbacks, *([Trackers(track)] if track else [])]


def _train_epochs(
    trainer: Trainer,
    evaluator: Evaluator | None,
    progress: Progress,
    folder: Path,
    resume: bool,
    plan: Callable[[], tuple[int, int, float, Clock | None]],
) -> tuple[Progress, Evaluation | None]:
    """Train until the last epoch, or until patience ends; the network is then that of the best epoch.

    With it come the scores of the last epoch, where this is the best.
    """
    network, best, evaluation = trainer.model.network, checkpoint.Weights(), None
    if resume:
        progress, best = checkpoint.read(folder, progress, network, trainer.optimizer)
    settings = _choose_epochs(trainer, progress, plan)
    if resume:
        for callback in trainer.callbacks:
            callback.on_resume(progress)
    while not progress.done:
        loss = trainer.epoch(progress, best, folder)
        began = time.monotonic()
        evaluation = None
        over, learns = trainer.is_out_of_time, progress.epoch > trainer.pretraining
        if evaluator and learns and (over or (progress.epochs - progress.epoch) % progress.scored == 0):
            with shared_out():
                trainer.refresh()
                evaluation = evaluator.evaluate()
        score = evaluation.value if evaluation else -1.0
        if not evaluator or not learns or score > progress.best:
            progress.best, progress.best_epoch = score, progress.epoch
            best = {name: tensor.detach().clone() for name, tensor in checkpoint.state_to_keep(network).items()}
        waited = progress.epoch - max(progress.best_epoch, trainer.pretraining)
        if over or (evaluation is not None and trainer.is_out_of_time):
            progress.epochs = progress.epoch
        progress.done = progress.epoch >= progress.epochs or 0 < settings.patience <= waited
        if not progress.done:  # what was learned with one memory is scored with it; the next epoch gets a new one
            network.encoder.write_word_memory(trainer.corpus)
        progress.seconds += time.monotonic() - began
        metrics = {"epoch": progress.epoch, "loss": loss, "seconds": round(progress.seconds, 3)}
        progress.history.append(metrics | (evaluation.scores.metrics() if evaluation else {}))
        if progress.done or trainer.checkpoint_is_due():
            trainer.write_checkpoint(progress, best, folder)
        for callback in trainer.callbacks:
            callback.on_epoch_end(progress, evaluation)
    if progress.best_epoch == progress.epoch and evaluation is not None:
        return progress, evaluation
    with torch.no_grad():
        for name, tensor in checkpoint.state_to_keep(network).items():
            tensor.copy_(best[name])
    return progress, None


def _choose_epochs(
    trainer: Trainer, progress: Progress, plan: Callable[[], tuple[int, int, float, Clock | None]]
) -> TrainingSettings:
    """Let the trainer have as many epochs as the time allows, or as a checkpoint says."""
    seconds = 0.0
    if not progress.epochs and trainer.settings.minutes:
        progress.epochs, progress.scored, seconds, trainer.clock = plan()
    progress.epochs = progress.epochs or trainer.settings.epochs
    trainer.settings = trainer.settings.model_copy(update={"epochs": progress.epochs})
    if seconds:
        for callback in trainer.callbacks:
            callback.on_plan(trainer.settings, seconds)
    return trainer.settings


def _training_data(
    recipe: Recipe, corpora: Corpora, synonyms: SynonymSource | None, warm: WarmStart | None
) -> TrainingData:
    """The training documents as this recipe can learn them; an error where there is nothing to learn."""
    if warm is not None and len(corpora) > 1:
        raise ConfigError("a model to begin with goes on with one corpus: give `train` as one")
    remembered = warm.documents() if warm is not None else []
    sizes = [len(documents) for documents in corpora.values()] if len(corpora) > 1 else []
    documents = [*remembered, *all_documents(corpora)]
    data = TrainingData.of(documents, recipe, recipe.splitter(), synonyms, sizes)
    if warm is not None:
        data = warm.plan(data, recipe.training.rehearsal, len(remembered))
    if not data.labels:
        raise NearspanError("the training data holds no entity that this recipe can learn: " + str(data.coverage))
    if "null" in data.labels:
        raise CorpusError(
            "the training data has a label 'null', which is the name of 'no entity' in the JSON of explain, audit and "
            "serve: rename it in the corpus"
        )
    generators = recipe.losses.generators
    if generators is not None and recipe.training.epochs <= generators.pretraining:
        raise ConfigError(
            f"losses.generators.pretraining takes {generators.pretraining} epochs, and training.epochs is "
            f"{recipe.training.epochs}: lower the one or raise the other, so that the head learns too"
        )
    return data


def _starting_model(recipe: Recipe, data: TrainingData, others: Sequence[Document], warm: WarmStart | None) -> Model:
    """A model with vocabularies from the training data; words of `others` keep their pretrained vectors.

    It is untrained, or what a trained model becomes that learns this data too.
    """
    known = LabelledSentences.of(others, recipe.splitter(), CandidateRules(recipe.suggester.max_width)).sentences
    decoding, spans = recipe.decoding, data.word_spans()
    overlap = least_overlap(spans) if decoding.overlap == "auto" else decoding.overlap
    linked_overlap = least_linked_overlap(spans) if decoding.linked == "auto" else decoding.linked
    vocabulary = data.texts.vocabulary if data.texts else None
    names = data.fragments.names if data.fragments else ()
    if warm is not None:
        spoken = data.sentences, data.entities, known
        return grow(warm.model, data.labels, *spoken, names, (overlap, linked_overlap))
    return Model.from_corpus(
        recipe, data.sentences, data.labels, known, overlap, vocabulary, names, linked_overlap, data.entities
    )


def _fill_datastore(model: Model, data: TrainingData, corpus: EncodedCorpus, seed: int) -> None:
    """Fill the datastore: with all training spans for a head that predicts from it, else with what `EVIDENCE` holds.

    Whole sentences are kept, those with entities first, drawn by chance.
    """
    network, labelled = model.network, data.labelled_sentences
    sizes = network.suggester.count(corpus) * network.span_size * 2  # bytes, in half precision
    needed = network.head.uses_datastore or network.encoder.word_memory is not None  # recalled words need sentences
    if needed or network.is_additive or int(sizes.sum()) <= EVIDENCE:
        model.build_datastore(labelled, corpus)
        return
    order = random.Random(seed).sample(range(len(data.sentences)), len(data.sentences))
    order.sort(key=lambda sentence: not data.entities[sentence])
    chosen = sorted(order[: int((sizes[order].cumsum(0) <= EVIDENCE).sum())])
    model.build_datastore(labelled.select(chosen))


def _calibrate(model: Model, dev: Sequence[Document], evaluation: Evaluation) -> None:
    """Calibrate a model on what it predicted of the development documents; too few entities leave it as it is."""
    try:
        fit = model.fit_calibration(dev, evaluation.predicted)
    except ConfigError as error:
        logger.info("scores are not calibrated: %s", error)
        return
    logger.info("scores are calibrated: ECE %.4f before, %.4f after", fit.ece_before, fit.ece_after)
