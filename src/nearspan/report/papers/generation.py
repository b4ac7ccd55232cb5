"""What a model's generators say of gold entities, and how much of it is right (Nguyen et al., 2023, tables 7 and 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearspan.document import Document
from nearspan.errors import ConfigError
from nearspan.losses.span_texts import lowercase_words
from nearspan.model import Model
from nearspan.report.papers.projection import missing_package
from nearspan.report.papers.spans import GoldSpan, gold_spans, input_vectors

EXAMPLES = 200  # that JSON holds
BATCH = 1024  # spans whose words are generated at once
UNKNOWN = "<unknown>"  # no word is spelled like this


@dataclass(frozen=True, slots=True)
class GeneratedEntity:
    """A gold entity in the generators' spelling, and what they make of it."""

    gold: GoldSpan
    original: str
    reconstruction: str
    synonym: str | None  # None: the model has learned none

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        texts = {"original": self.original, "reconstruction": self.reconstruction}
        return texts if self.synonym is None else {**texts, "synonym": self.synonym}


@dataclass(frozen=True)
class Generation:
    """What is generated for a corpus's gold entities."""

    entities: list[GeneratedEntity]
    bleu2: float  # of the reconstructions, 0 to 1
    ceiling: float  # BLEU-2 if all words that the generators know were right

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        examples = [entity.to_dict() for entity in self.entities[:EXAMPLES]]
        return {"entities": len(self.entities), "bleu2": self.bleu2, "ceiling": self.ceiling, "examples": examples}


def generation(model: Model, documents: Sequence[Document]) -> Generation:
    """Let a model's generators spell the gold entities of documents, word by word the likeliest.

    Gold entities that are no candidates of the model (too wide, discontinuous) are left out.

        result = generation(nearspan.load("runs/joint"), nearspan.read("dev.jsonl").documents)
        result.bleu2, result.entities[0].original, result.entities[0].reconstruction
    """
    spans, generators = list(gold_spans(model, documents).values()), model.network.generators
    if generators is None:
        raise ConfigError("this model has no generators: train with a recipe that has losses.generators")
    generators.eval()
    batches = input_vectors(model, spans).split(BATCH) if spans else ()
    reconstructions = [text for batch in batches for text in generators.generate(batch)]
    synonyms: list[str] | list[None] = [None] * len(spans)
    if generators.vocabulary.synonyms:
        synonyms = [text for batch in batches for text in generators.generate(batch, "synonyms")]
    words = [lowercase_words(span.entity.span.text(span.sentence.document.text)) for span in spans]
    originals = [" ".join(entity) for entity in words]
    known = set(generators.vocabulary.words)
    best = [" ".join(word if word in known else UNKNOWN for word in entity) for entity in words]
    rows = zip(spans, originals, reconstructions, synonyms, strict=True)
    return Generation(
        [GeneratedEntity(*row) for row in rows], bleu2(reconstructions, originals), bleu2(best, originals)
    )


def bleu2(texts: Sequence[str], originals: Sequence[str]) -> float:
    """BLEU of a corpus from words and pairs of words, equally weighted, 0 to 1; blanks separate words.

    >>> round(bleu2(["lung cancer", "renal failure"], ["lung cancer", "heart failure"]), 3)
    0.612
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise missing_package("sacrebleu") from error
    if not texts:
        return 0.0
    scorer = BLEU(max_ngram_order=2, tokenize="none", force=True)
    return float(scorer.corpus_score(list(texts), [list(originals)]).score) / 100
