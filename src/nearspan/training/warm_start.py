"""A warm start: training that begins with a trained model, its memory and all edits of that.

What the weights have not seen is new: documents that are given, sentences that were added to the memory or corrected
in it, and all of a memory that was built after training. The rest of the memory is rehearsed: each epoch reads a share
of it, so that nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearspan.config import Recipe
from nearspan.document import Document, count_of
from nearspan.errors import ConfigError, NearspanError
from nearspan.heads import Query
from nearspan.io.memory_files import MANIFEST, Journal, Manifest, current_file
from nearspan.knn import MemorySentence
from nearspan.knn.assemble import relabel
from nearspan.memory.edits import Edit
from nearspan.memory.receipts import sentence_line
from nearspan.memory.reweight import Target, reweight
from nearspan.memory.sentences import by_document, labelled_document
from nearspan.memory.sync import MemorySync
from nearspan.model import Model, folder
from nearspan.settings import flatten
from nearspan.training.data import TrainingData
from nearspan.training.episodes import Episodes

EPOCHS = 20  # at most, where no recipe says how many

# settings that may be others than those of the model: how it is trained and used, not what it is made of
FREE = ("training.", "decoding.", "losses.", "interpolation.", "name", "about")
FREE_ENDS = (
    "dropout",
    "state_dropout",
    "output_dropout",
    "frozen",
    "frozen_layers",
    "learning_rate",
    "file",
    "limit",
    "least",
    "missing",
    "trainable",
    "singletons",
    "budget_mb",
    "search",
    "neighbours",
    "training_neighbours",
    "null_share",
    "through_neighbours",
    "threshold",
    "tuned",
)


def warm_recipe(recipe: Recipe) -> Recipe:
    """The recipe of a model as a warm start trains it where no other is given: few epochs on all that there is."""
    epochs = min(recipe.training.epochs, EPOCHS)
    return recipe.override([f"training.epochs={epochs}", "training.minutes=0", "training.dev_share=0"])


def refuse_other_parts(recipe: Recipe, old: Recipe, path: Path) -> None:
    """Refuse a recipe that is of other parts than the model of a folder; the error names the first that differ."""
    new_settings, old_settings = (dict(flatten(each.model_dump(exclude_none=True))) for each in (recipe, old))
    differences = [
        f"{key} is {_value(new_settings, key)}, in the model {_value(old_settings, key)}"
        for key in sorted({*new_settings, *old_settings})
        if new_settings.get(key) != old_settings.get(key)
        and not key.startswith(FREE)
        and key.rpartition(".")[2] not in FREE_ENDS
    ]
    if differences:
        more = f"; and {len(differences) - 3} more" if differences[3:] else ""
        raise ConfigError(
            f"the recipe {recipe.name!r} and the model in {path} are of different parts: {'; '.join(differences[:3])}"
            f"{more}. Leave the recipe out to go on with the model's own, or train without a model to begin with"
        )


def _value(settings: dict[str, Any], key: str) -> str:
    return repr(settings[key]) if key in settings else "not there"


@dataclass(frozen=True)
class WarmStart:
    """A trained model as training takes it up: with the memory as its edits have left it."""

    model: Model
    path: Path
    sentences: Sequence[MemorySentence]  # of the memory, in order of their ids
    new: frozenset[int]  # those, by their place, that the weights have not seen as they are now
    edits: int  # that the memory had
    base: str  # what names the memory that the edits were made in

    @classmethod
    def read(cls, path: Path, recipe: Recipe, replace_memory: bool = False) -> WarmStart:
        """Take up the model of a folder, to be trained by a recipe of the same parts."""
        refuse_other_parts(recipe, folder.read_recipe(path), path)
        model = Model(**folder.load(path, recipe), path=path)
        if not folder.has_memory(path) or replace_memory:
            return cls(model, path, (), frozenset(), 0, "")
        sync = MemorySync(path, model)
        sync.reload()
        manifest = Manifest.read(current_file(path, MANIFEST))
        remembered = sorted(sync.revision.sentences.items())
        seen = () if manifest.built else sync.base
        new = frozenset(
            place
            for place, (number, sentence) in enumerate(remembered)
            if number >= len(seen) or sentence != seen[number]
        )
        return cls(model, path, [sentence for _, sentence in remembered], new, len(sync.edits), manifest.base)

    @property
    def corrected(self) -> list[int]:
        """The places of the sentences that count more often than once, so that the model reads them as they are."""
        return [place for place, each in enumerate(self.sentences) if each.carried or each.span_weights]

    def documents(self) -> list[Document]:
        """The memory's sentences as documents."""
        return [labelled_document(group, self.model.recipe.suggester.unit) for group in by_document(self.sentences)]

    def plan(self, data: TrainingData, rehearsal: float, old_documents: int) -> TrainingData:
        """Training data that begins with the memory's documents, as the epochs of a warm start read it."""
        old = {id(document) for document in data.documents[:old_documents]}
        count = sum(id(sentence.document) in old for sentence in data.sentences)
        if count != len(self.sentences):
            raise NearspanError(
                f"the memory in {self.path} holds {len(self.sentences):,} sentences, which would be read as {count:,}: "
                "train on the corpus without a model to begin with"
            )
        skipped = frozenset(place for place, sentence in enumerate(self.sentences) if sentence.removed)
        rehearsed = frozenset(range(count)) - self.new
        if len(rehearsed | skipped) == len(data.sentences):
            raise NearspanError(
                f"there is nothing to train on: the memory in {self.path} has no edits. Correct it with `nearspan "
                "memory`, or give `train`"
            )
        episodes = Episodes(data.episodes.corpora, rehearsed, rehearsal, skipped, is_warm=True)
        labels = self.model.labels[1:] if self.sentences else ()
        return replace(data, episodes=episodes, known_labels=labels)

    def describe(self, data: TrainingData, epochs: int, learned: Learned) -> str:
        """What was trained on, in a line."""
        episodes, given = data.episodes, len(data.sentences) - len(self.sentences)
        parts = [count_of(given, "new sentence", "new sentences")] if given else []
        if self.new:
            parts.append(f"{count_of(len(self.new), 'sentence', 'sentences')} of its memory that training had not seen")
        parts = [f"{' and '.join(parts)}, in {count_of(epochs, 'epoch', 'epochs')}"]
        if episodes.drawn:
            parts.append(f"{episodes.drawn:,} of {len(episodes.rehearsed):,} others rehearsed in each")
        return "; ".join([f"trained from {self.path} on {', '.join(parts)}", *([str(learned)] if str(learned) else [])])


@dataclass(frozen=True)
class Learned:
    """What became of the corrections of a memory that a warm start has trained on."""

    read_right: Sequence[int] = ()  # sentences of the new memory that count once now, and are read right
    weighted: Sequence[int] = ()  # those that still have to count more often
    misread: Sequence[int] = ()  # those that no weight is enough for

    def __str__(self) -> str:
        count = len(self.read_right) + len(self.weighted) + len(self.misread)
        if not count:
            return ""
        text = f"{count_of(count, 'correction', 'corrections')} went into the weights"
        text += f": {len(self.read_right):,} read right now"
        text += f", {len(self.weighted):,} still count more than once" if self.weighted else ""
        return text + (f", {len(self.misread):,} still misread" if self.misread else "")


def take_over_edits(model: Model, warm: WarmStart, data: TrainingData) -> Learned:
    """Let the new memory of a model have what the old one says of its sentences beside their labels.

    Spans that were removed stay so, and so does how often a sentence counts; its entities count once, as training has
    learned them. A correction counts once where training has learned it, and else as often as it
    takes. A memory that holds evidence alone, and not all sentences, is left as it is.
    """
    datastore = model.datastore
    if datastore is None or len(datastore.sentences) != len(data.sentences):
        return Learned()
    kept = dict(zip(datastore.ids, datastore.sentences, strict=True))
    for row, old in enumerate(warm.sentences):
        kept[row] = replace(kept[row], removed=old.removed, weight=old.weight or 1.0)
    corrected = warm.corrected if model.datastore_weight else []
    network = model.network
    once = relabel(datastore, kept, network.suggester)
    outcomes = []
    if corrected:
        sentences = [data.sentences[row] for row in corrected]
        queries = [Query(network, batch) for batch in network.encode(sentences).reading_batches()]
        target = Target(sentences, queries, [[row] for row in corrected])
        outcomes = list(zip(corrected, reweight(model, once, target), strict=True))
    for row, outcome in outcomes:
        kept[row] = replace(kept[row], span_weights=outcome.span_weights, carried=outcome.carried)
    model.datastore = relabel(datastore, kept, network.suggester)
    heavy = {row for row, outcome in outcomes if outcome.span_weights or outcome.carried}
    failed = {row for row, outcome in outcomes if outcome.failure}
    right = [row for row, _ in outcomes if row not in heavy | failed]
    return Learned(right, sorted(heavy - failed), sorted(failed))


def note_training(path: Path, model: Model, warm: WarmStart, summary: str, learned: Learned) -> None:
    """Begin the journal of a new model's memory with what it was trained from."""
    if model.datastore is None:
        return
    sentences = model.datastore.sentences
    receipt = [f"read right now: {sentence_line(row, sentences[row])}" for row in learned.read_right]
    receipt += [f"still counts more than once: {sentence_line(row, sentences[row])}" for row in learned.weighted]
    receipt += [f"still misread: {sentence_line(row, sentences[row])}" for row in learned.misread]
    change = {"model": str(warm.path), "base": warm.base, "edits": warm.edits}
    time = datetime.now(UTC).isoformat(timespec="seconds")
    Journal.read(path).append(asdict(Edit(1, time, "train", summary, change, tuple(receipt))))
