"""What a model thinks of a corpus's spans when their own sentences do not speak for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.document import Document
from nearspan.errors import ModelError
from nearspan.heads import NearestHead
from nearspan.knn.datastore import NO_MEMORY
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.model import Model
from nearspan.model.decode import Fragments
from nearspan.segment import Coverage, Gold, align
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import Candidates, SpanLabels, WordEntity, align_to_candidates

VOTERS = 32  # other spans that vote beside a head that does not score with the memory
UNASKED = "no single span that is asked about"  # in reach of a joiner, or of tags, and no candidate
DOUBT = 0.05  # the whole memory is asked about spans whose annotation a first look gives less than the rest of this

Progress = Callable[[str, int, int], None]  # what is going on, how much of it is done now, and of how much


@dataclass(frozen=True)
class Place:
    """A sentence of the corpus, or a window of one."""

    document: int  # its position in the corpus
    part: Window
    entities: Sequence[WordEntity]  # over the part's words, those that candidates equal
    others: Sequence[
        Fragments
    ] = ()  # annotations over spans that nothing is asked about, as discontinuous and wide ones


@dataclass(frozen=True)
class Opinions:
    """n spans whose annotation, a label or none, a first look does not find beyond doubt."""

    places: Sequence[Place]
    place: Tensor  # [n] the sentence that a span is of
    first: Tensor  # [n]
    stop: Tensor  # [n]
    annotated: Tensor  # [n, 1 + Y] ones for the labels in the corpus, null first
    probabilities: Tensor  # [n, 1 + Y] what the others say
    vectors: Tensor  # [n, H]
    own: Tensor  # [n] who keeps silent, as `Others` counts
    totals: Tensor | None  # [n] log of all weights, for the instance head


def places(model: Model, documents: Sequence[Document]) -> tuple[list[Place], Coverage]:
    """The sentences of a corpus with their annotations, and how many of these can be asked about."""
    found, coverage, width = [], Coverage(), model.network.max_width
    flags = (model.recipe.head.multilabel, model.network.fragment_linker is not None, model.recipe.head.tags_words)
    for number, document in enumerate(documents):
        sentences = model.split(document)
        reached = align_to_candidates(sentences, document.entities, width, *flags)
        asked = [[one for one in own if one[1] - one[0] <= width] for own in reached.entities]
        left = sum(stop - first > width for own in reached.entities for first, stop, _ in own)
        left += sum(map(len, reached.discontinuous))
        coverage += reached.coverage + Coverage(unreachable={UNASKED: left})
        for sentence, own, golds in zip(sentences, asked, align(sentences, document.entities).golds, strict=True):
            found += [_place(number, part, own, golds) for part in split_windows(sentence, width)]
    return found, coverage


def _place(document: int, part: Window, asked: Sequence[WordEntity], golds: Sequence[Gold]) -> Place:
    """A sentence or a window of one with its annotations, of which some are asked about."""
    length = len(part.sentence)
    moved = [(first - part.start, stop - part.start, label) for first, stop, label in asked]
    entities = [(first, stop, label) for first, stop, label in moved if first >= 0 and stop <= length]
    spans = {((first, stop),) for first, stop, _ in entities}
    near = [gold.shift(-part.start).fragments for gold in golds]
    return Place(document, part, entities, [one for one in near if one not in spans])


@torch.inference_mode()
def opinions(model: Model, sentences: Sequence[Place], others: LeaveOneOut, progress: Progress) -> Opinions:
    """Ask the memory about the spans of sentences, each time without the sentence itself and its copies."""
    network = model.network.eval()
    prepared = model.encode([place.part.sentence for place in sentences])
    own = torch.tensor([_kin(others, place.part) for place in sentences], device=model.device)  # [M]
    number = {label: i for i, label in enumerate(model.labels)}
    known = [[(a, b, number[label]) for a, b, label in place.entities if label in number] for place in sentences]
    labels = SpanLabels.of_all_spans(prepared.lengths, known, network.max_width).to(model.device)
    kept: list[tuple[Tensor, ...]] = []
    for ids in prepared.order(model.device):
        batch = prepared.batch(ids)
        silent = own[ids.to(model.device)]  # [B]
        vectors, candidates, encoded = network.read(batch)
        if isinstance(network.head, NearestHead):
            near = others.nearest(network.encoder.sentence_vectors(encoded), silent, network.head.settings.neighbours)
            seen, _ = network.probabilities(batch, others.memory, near)
        else:
            seen, _ = network.judged(encoded, candidates, None)
        hot = labels.one_hot_targets(batch.ids, candidates, network.labels)
        wanted = (seen - hot).abs().amax(1) > DOUBT
        rows = (wanted & _owned([sentences[i].part for i in ids.tolist()], candidates)).nonzero().flatten()
        at = candidates.sentence[rows]
        where = (ids.to(model.device)[at], candidates.first[rows], candidates.stop[rows])
        kept.append((*where, hot[rows], seen[rows], vectors[rows].float(), silent[at]))
        progress("reading", len(ids), len(prepared))
    place, first, stop, annotated, seen, vectors, own = (torch.cat(column) for column in zip(*kept, strict=True))
    totals = None

    def watch(done: int, whole: int) -> None:
        progress("asking", done, whole)

    if isinstance(network.head, NearestHead):
        # of a few nearest sentences a label is often absent, and its probability of 0 ranks nothing: ask all
        seen, totals = others.shares(vectors, own, watch)
    else:
        seen = (seen + others.vote(vectors, own, VOTERS, watch)) / 2
    return Opinions(sentences, place, first, stop, annotated, seen, vectors, own, totals)


def others_of(model: Model) -> LeaveOneOut:
    """The memory of a model as one that does not speak for itself; an error where nobody else is there to speak."""
    memory = model.datastore
    if memory is None or not len(memory):
        raise ModelError(f"this model has no memory to audit with: {NO_MEMORY}")
    found = LeaveOneOut.of(memory, model.labels)
    if len(found.numbers) < 2:
        raise ModelError("the memory holds a single sentence, and a sentence does not speak for itself: remember more")
    return found


def _kin(others: LeaveOneOut, part: Window) -> int:
    sentence = part.sentence
    return others.number(sentence.document.id, sentence.index, sentence.text, len(sentence))


def _owned(parts: Sequence[Window], candidates: Candidates) -> Tensor:
    """Which candidates [S] are of whole words and belong to their window."""
    device = candidates.first.device
    longest = max(len(part.sentence) for part in parts) + 1
    begins, ends = (torch.zeros(len(parts), longest, dtype=torch.bool) for _ in range(2))
    for row, part in enumerate(parts):
        runs = torch.tensor(part.sentence.runs)  # [W, 2]
        begins[row, runs[:, 0]] = ends[row, runs[:, 1]] = True
        begins[row, : part.first] = begins[row, part.stop :] = False
    at = candidates.sentence
    return begins.to(device)[at, candidates.first] & ends.to(device)[at, candidates.stop]
