"""The vectors of a corpus's gold entity spans, as a model sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.document import Document, Entity, Span
from nearspan.model import Model
from nearspan.text import Sentence, align, split
from nearspan.text.reading import readings

Key = tuple[int, Entity]  # the document's position, and the entity in it


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A gold entity that a model considers: words `first` to `stop` of a sentence, or of a window of one."""

    document: int
    entity: Entity
    sentence: Sentence
    first: int
    stop: int

    @property
    def span(self) -> Span:
        """Its characters in the text of its sentence."""
        return self.entity.span.shifted(-self.sentence.start)


def gold_spans(model: Model, documents: Sequence[Document]) -> dict[Key, GoldSpan]:
    """The gold entities whose spans are among a model's candidates, in order; of two labels on a span the first."""
    found: dict[Key, GoldSpan] = {}
    for number, document in enumerate(documents):
        sentences = split(document, characters=model.recipe.characters_as_words)
        aligned = align(sentences, document.entities)
        for sentence, golds, sources in zip(sentences, aligned.golds, aligned.sources, strict=True):
            parts = readings(sentence, model.network.max_width) if golds else []
            seen = set()
            for gold, entity in zip(golds, sources, strict=True):
                if gold.discontinuous or gold.width > model.network.max_width or gold.fragments in seen:
                    continue
                seen.add(gold.fragments)
                part = next(part for part in parts if part.owns(gold.first - part.start))
                first, stop = gold.first - part.start, gold.stop - part.start
                if stop <= len(part.sentence):
                    found[number, entity] = GoldSpan(number, entity, part.sentence, first, stop)
    return found


@torch.inference_mode()
def span_vectors(model: Model, spans: Sequence[GoldSpan]) -> Tensor:
    """The vectors [N, H] of some spans; each sentence is read once."""
    network = model.network.eval()
    sentences = list(dict.fromkeys(span.sentence for span in spans))
    number = {sentence: i for i, sentence in enumerate(sentences)}
    wanted = torch.tensor([(number[span.sentence], span.first, span.stop) for span in spans]).view(-1, 3)
    vectors = torch.empty(len(spans), network.representation.size, device=model.device)
    if not spans:
        return vectors
    prepared = network.encoder.prepare(sentences).to(model.device)
    for ids in prepared.order(model.device):
        found, candidates = network.spans(prepared.batch(ids))
        place = torch.full((len(sentences),), -1)
        place[ids] = torch.arange(len(ids))
        mine = (place[wanted[:, 0]] >= 0).nonzero().flatten()
        longest = int(prepared.lengths[ids].max()) + 1
        # candidates are sorted by sentence, first and stop, and so are these numbers
        numbers = (candidates.sentence * longest + candidates.first) * longest + candidates.stop
        sentence, first, stop = place[wanted[mine, 0]], wanted[mine, 1], wanted[mine, 2]
        asked = ((sentence * longest + first) * longest + stop).to(model.device)
        vectors[mine.to(model.device)] = found[torch.searchsorted(numbers, asked)].float()
    return vectors
