"""The models of a report, each with a name and its scores on the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from nearspan.document import Document
from nearspan.evaluation import Counts, Error, Evaluation, Scores, evaluate, find_errors
from nearspan.evaluation.slices import by_structure, by_vocabulary, by_width
from nearspan.model import Model
from nearspan.model.calibration import Bin, reliability

WIDEST = 10  # words; wider entities are counted together
STRUCTURES = ("flat", "nested", "covering", "both")


@dataclass(frozen=True)
class ScoredModel:
    """A model, its name on the page, and what it predicts on the corpus."""

    name: str
    model: Model
    documents: Sequence[Document]  # gold
    evaluation: Evaluation
    folder: Path | None = None

    @classmethod
    def of(cls, name: str, model: Model, documents: Sequence[Document], folder: Path | None = None) -> Self:
        """Score a model: by the entities that it finds or, if spans are given to it, by the labels that they get."""
        return cls(name, model, documents, evaluate(model, documents), folder)

    @property
    def predicted(self) -> Sequence[Document]:
        """The documents with the entities that it predicts."""
        return self.evaluation.predicted

    @cached_property
    def widths(self) -> dict[str, Counts]:
        """Scores by width in words, the narrowest first."""
        characters = self.model.recipe.characters_as_words
        return _totals(by_width(self.documents, self.predicted, widest=WIDEST, characters=characters))

    @cached_property
    def structures(self) -> dict[str, Counts]:
        """Scores of flat, nested and covering entities."""
        structures = _totals(by_structure(self.documents, self.predicted))
        return {name: structures[name] for name in STRUCTURES if name in structures}

    @cached_property
    def vocabularies(self) -> dict[str, Counts]:
        """Scores by whether an entity's words are known; none for a model without pretrained word vectors."""
        vocabulary, characters = vector_vocabulary(self.model), self.model.recipe.characters_as_words
        if vocabulary is None:
            return {}
        return _totals(by_vocabulary(self.documents, self.predicted, *vocabulary, characters=characters))

    @cached_property
    def discontinuous(self) -> dict[str, Counts]:
        """Scores of discontinuous entities alone and of the sentences that hold them, where there are any."""
        return _totals(self.evaluation.discontinuous)

    @cached_property
    def reliability(self) -> list[Bin]:
        """Predicted entities by their scores, and the share of them that is right."""
        return reliability(self.evaluation.scored)

    @cached_property
    def errors(self) -> list[Error]:
        """Everything it got wrong."""
        return find_errors(self.documents, self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        store = self.model.datastore
        slices = {
            name: {key: counts.to_dict() for key, counts in getattr(self, name).items()}
            for name in ("widths", "structures", "vocabularies")
        }
        return {
            "name": self.name,
            "recipe": self.model.recipe.model_dump(exclude_none=True),
            "labels": self.model.labels[1:],
            "overlap": self.model.overlap,
            "calibrated": self.model.calibration is not None,
            "reliability": [asdict(part) for part in self.reliability],
            "memory": {"sentences": len(store.sentences), "spans": len(store)} if store else None,
            **self.evaluation.to_dict(),
        } | ({} if self.model.classifies_given_spans else slices)


def vector_vocabulary(model: Model) -> tuple[set[str], set[str]] | None:
    """Words of the training data and words with a pretrained vector; None for a model without such vectors."""
    vectors = model.network.encoder.vectors
    if vectors is None or not vectors.pretrained_words:
        return None
    return set(vectors.vocabulary["seen"]), set(vectors.pretrained_words)


def _totals(slices: Mapping[str, Scores]) -> dict[str, Counts]:
    return {name: scores.total for name, scores in slices.items()}


def name_models(models: Sequence[tuple[Path | None, Model]]) -> list[str]:
    """Names that differ: those of the folders, or else of the recipes, or else recipes with numbers."""
    choices = [
        [folder.resolve().name if folder else "" for folder, _ in models],
        [model.recipe.name for _, model in models],
    ]
    for names in choices:
        if all(names) and len(set(names)) == len(names):
            return names
    return [f"{model.recipe.name} {number}" for number, (_, model) in enumerate(models, start=1)]
