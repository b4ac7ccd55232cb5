"""What a model predicts for a corpus's spans when their own sentences have no part in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from nearspan.document import Document
from nearspan.heads import Query
from nearspan.knn.leave_one_out import LeaveOneOut
from nearspan.model import Model
from nearspan.progress import Progress
from nearspan.segment import Coverage, Fragments, LabelledSpan, align, contiguous
from nearspan.segment.windows import Window, split_windows
from nearspan.spans import Candidates, SpanLabels, align_to_candidates

NO_CANDIDATE = "no single span that is asked about"  # in reach of linked fragments, or of tags, and no candidate
NEIGHBOURS = 32  # other spans that have a say beside a head that does not sum over the datastore
DOUBT = 0.05  # the whole memory is asked about spans whose annotation a first look gives less than the rest of this


@dataclass(frozen=True)
class AuditedSentence:
    """A sentence of the corpus, or a window of one."""

    document: int  # its position in the corpus
    window: Window
    entities: Sequence[LabelledSpan[str]]  # over the window's words, those that candidates equal
    unasked: Sequence[Fragments] = ()  # annotations that no candidate equals, such as discontinuous and wide ones


@dataclass(frozen=True)
class LeaveOneOutPredictions:
    """n spans whose annotation, a label or none, a first look does not find beyond doubt."""

    sentences: Sequence[AuditedSentence]
    sentence: Tensor  # [n] the sentence that a span is of
    first: Tensor  # [n]
    stop: Tensor  # [n]
    annotated: Tensor  # [n, 1 + Y] ones for the labels in the corpus, null first
    probabilities: Tensor  # [n, 1 + Y] by the other sentences
    vectors: Tensor  # [n, H]
    groups: Tensor  # [n] the duplicate groups that are left out
    totals: Tensor | None  # [n] log of all weights, for the instance head


def split_corpus(model: Model, documents: Sequence[Document]) -> tuple[list[AuditedSentence], Coverage]:
    """The sentences of a corpus with their annotations, and how many of these can be asked about."""
    sentences, coverage, width = [], Coverage(), model.network.max_width
    for number, document in enumerate(documents):
        parts = model.split(document)
        reached = align_to_candidates(parts, document.entities, model.network.rules)
        narrow = [[gold for gold in contiguous(golds) if gold.width <= width] for golds in reached.entities]
        lost = sum(map(len, reached.entities)) - sum(map(len, narrow))
        coverage += reached.coverage + Coverage(unreachable={NO_CANDIDATE: lost})
        for sentence, entities, golds in zip(parts, narrow, align(parts, document.entities).golds, strict=True):
            windows = split_windows(sentence, width)
            sentences += [_audited_sentence(number, window, entities, golds) for window in windows]
    return sentences, coverage


def _audited_sentence(
    document: int, window: Window, entities: Sequence[LabelledSpan[str]], golds: Sequence[LabelledSpan[str]]
) -> AuditedSentence:
    moved = [gold.shift(-window.start) for gold in entities]
    inside = [gold for gold in moved if gold.first >= 0 and gold.stop <= len(window.sentence)]
    spans = {gold.fragments for gold in inside}
    fragments = [gold.shift(-window.start).fragments for gold in golds]
    return AuditedSentence(document, window, inside, [gold for gold in fragments if gold not in spans])


@torch.inference_mode()
def predict_leave_one_out(
    model: Model, sentences: Sequence[AuditedSentence], store: LeaveOneOut, progress: Progress
) -> LeaveOneOutPredictions:
    """Ask the memory about the spans of sentences, each time without the sentence itself and its copies."""
    network, windows = model.network.eval(), [audited.window for audited in sentences]
    texts = [window.sentence for window in windows]
    numbers = [store.group_of(text.document.id, text.index, text.text, len(text)) for text in texts]
    groups = torch.tensor(numbers, device=model.device)  # [M]
    corpus = model.encode(texts)
    number = {label: i for i, label in enumerate(model.labels)}
    known = [
        [LabelledSpan(gold.fragments, number[gold.label]) for gold in audited.entities if gold.label in number]
        for audited in sentences
    ]
    labels = SpanLabels.of_all_spans(corpus.lengths, known, network.max_width).to(model.device)
    kept: list[tuple[Tensor, ...]] = []
    for batch in corpus.reading_batches():
        ids, query = batch.ids, Query(network, batch)
        on_device = ids.to(model.device)
        candidates = query.candidates
        likely = _predict_batch(model, query, store, groups[on_device])  # [S, 1 + Y]
        annotated = labels.one_hot_targets(ids, candidates, len(number))  # [S, 1 + Y]
        doubtful = (likely - annotated).abs().amax(1) > DOUBT
        rows = (doubtful & _window_mask([windows[i] for i in ids.tolist()], candidates)).nonzero().flatten()
        sentence = on_device[candidates.sentence[rows]]
        places = (sentence, candidates.first[rows], candidates.stop[rows], groups[sentence])
        kept.append((*places, annotated[rows], likely[rows], query.vectors[rows].float()))
        progress("comparing sentences", len(ids), len(sentences))
    columns = (torch.cat(column) for column in zip(*kept, strict=True))
    sentence, first, stop, groups, annotated, probabilities, vectors = columns
    totals, watch = None, partial(progress, "comparing doubtful spans with the whole memory")
    if network.head.sums_inner_products:
        # of a few nearest sentences a label is often absent, and its probability of 0 ranks nothing: ask all
        probabilities, totals = store.probabilities(vectors, groups, watch)
    else:
        probabilities = (probabilities + store.knn_probabilities(vectors, groups, NEIGHBOURS, watch)) / 2
    return LeaveOneOutPredictions(sentences, sentence, first, stop, annotated, probabilities, vectors, groups, totals)


def _predict_batch(model: Model, query: Query, store: LeaveOneOut, groups: Tensor) -> Tensor:
    """P(y|s) [S, 1 + Y] by the nearest other sentences, or by a head with weights; `groups` [B] are left out."""
    head = model.network.head
    if head.uses_datastore and not head.sums_inner_products:  # the head itself cannot leave a sentence out
        return store.knn_probabilities(query.vectors, groups[query.candidates.sentence], NEIGHBOURS)
    if head.sums_inner_products:
        vectors = model.network.encoder.sentence_vectors(query.encoded)
        near = store.nearest_sentences(vectors, groups, head.training_neighbours)
        query = query.with_datastore(store.datastore, near)
    likely = head.predict_proba(query)
    return functional.pad(likely, (0, len(store.datastore.names) - likely.shape[1]))


def _window_mask(windows: Sequence[Window], candidates: Candidates) -> Tensor:
    """Which candidates [S] consist of full words and belong to their window."""
    device = candidates.first.device
    longest = max(len(window.sentence) for window in windows) + 1
    begins, ends = (torch.zeros(len(windows), longest, dtype=torch.bool) for _ in range(2))
    for row, window in enumerate(windows):
        runs = torch.tensor(window.sentence.runs)  # [W, 2]
        begins[row, runs[:, 0]] = ends[row, runs[:, 1]] = True
        begins[row, : window.first] = begins[row, window.stop :] = False
    at = candidates.sentence
    return begins.to(device)[at, candidates.first] & ends.to(device)[at, candidates.stop]
