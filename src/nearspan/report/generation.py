"""Generation: what a model's generators say of gold entities, and how much of it is right (Nguyen et al., 2023,
tables 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.losses.span_texts import spelled
from nearspan.model import Model
from nearspan.report.projection import missing
from nearspan.report.vectors import GoldSpan, gold_spans, input_vectors

EXAMPLES = 200  # that JSON holds
TOGETHER = 1024  # spans that are told at once
UNKNOWN = "<unknown>"  # no word is spelled like this


@dataclass(frozen=True, slots=True)
class Told:
    """A gold entity in the generators' spelling, and what they say of it."""

    gold: GoldSpan
    original: str
    reconstruction: str
    synonym: str | None  # None: the model has learned none

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {"original": self.original, "reconstruction": self.reconstruction}
        return told if self.synonym is None else {**told, "synonym": self.synonym}


@dataclass(frozen=True)
class Generation:
    """What is said of a corpus's gold entities."""

    told: list[Told]
    bleu2: float  # of the reconstructions, 0 to 1
    ceiling: float  # BLEU-2 if all words that the generators know were right

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        examples = [one.to_dict() for one in self.told[:EXAMPLES]]
        return {"entities": len(self.told), "bleu2": self.bleu2, "ceiling": self.ceiling, "examples": examples}


def generation(model: Model, documents: Sequence[Document]) -> Generation:
    """Let a model's generators tell the gold entities of documents, word by word the likeliest.

    Gold entities that are no candidates of the model (too wide, discontinuous) are left out.

        found = generation(nearspan.load("runs/joint"), nearspan.read("dev.jsonl").documents)
        found.bleu2, found.told[0].original, found.told[0].reconstruction
    """
    return told_of(model, list(gold_spans(model, documents).values()))


def told_of(model: Model, spans: Sequence[GoldSpan]) -> Generation:
    """The same for some gold spans."""
    generators = model.network.generators
    if generators is None:
        raise ConfigError("this model has no generators: train with a recipe that has losses.generators")
    generators.eval()
    parts = input_vectors(model, spans).split(TOGETHER) if spans else ()
    own = [told for part in parts for told in generators.generate(part)]
    others: list[str] | list[None] = [None] * len(spans)
    if generators.vocabulary.synonyms:
        others = [told for part in parts for told in generators.generate(part, "synonyms")]
    words = [spelled(one.entity.span.text(one.sentence.document.text)) for one in spans]
    texts = [" ".join(some) for some in words]
    known = set(generators.vocabulary.words)
    best = [" ".join(word if word in known else UNKNOWN for word in some) for some in words]
    told = [Told(*row) for row in zip(spans, texts, own, others, strict=True)]
    return Generation(told, bleu2(own, texts), bleu2(best, texts))


def bleu2(found: Sequence[str], originals: Sequence[str]) -> float:
    """BLEU of a corpus from words and pairs of words, equally weighted, 0 to 1; words are what blanks part.

    >>> round(bleu2(["lung cancer", "renal failure"], ["lung cancer", "heart failure"]), 3)
    0.612
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise missing("sacrebleu") from error
    if not found:
        return 0.0
    scorer = BLEU(max_ngram_order=2, tokenize="none", force=True)
    return float(scorer.corpus_score(list(found), [list(originals)]).score) / 100
