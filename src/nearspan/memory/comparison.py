"""The comparison of a batch's spans with those of a memory, as the instance head asks for it: equation 2."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nearspan.heads import Instances, Pool, WordPool
from nearspan.memory.search import pools, pools_apart
from nearspan.memory.store import Memory
from nearspan.memory.words import WordTable
from nearspan.spans import Candidates, EndSums

CELLS = 2**19  # scores of ends of spans with words at once: what a CPU's caches like
CELL = 128  # bytes that one of them takes, in single and at worst in double precision
FEW = 2  # neighbours whose words are enough to see that most spans are null
LEAST = 8  # sentences for which this is quicker
SOME = 32  # sentences whose other spans are weighed at once
WORDS = 8192  # of the memory at once, if all its sentences were as long as the longest


def compared_by_words(
    head: Instances,
    memory: Memory,
    words: WordTable,
    sentences: Tensor | None,
    asked: EndSums,
    candidates: Candidates,
    max_width: int,
) -> Tensor:
    """P(y|s) [S, 1 + Y] from words of the memory, as a CPU likes it: those of `sentences` [B, K], or of all."""
    _, length, size = asked.left.shape

    def compared(asked: EndSums, own: Tensor) -> Tensor:
        most = min(WORDS, head.budget // (len(asked) * ((length + 2) * CELL + 8 * size)))
        parts: Iterable[WordPool | Pool]
        parts = chain(words.pools(own, most), pools_apart(memory, words, own, most))
        return head.probabilities_by_words(asked, parts, max_width)

    if sentences is None:
        sentences, asked = torch.arange(len(words.starts))[None], asked.double()  # one pool for all
    widths = candidates.stop - candidates.first - 1
    if len(asked) == 1:
        return compared(asked, sentences)[candidates.sentence, candidates.first, widths]
    one = len(sentences) == 1
    sizes = words.counts + memory.counts * words.apart  # [M]
    sizes = torch.full((len(asked),), WORDS // 8) if one else sizes[sentences].sum(1)
    order = sizes.argsort()  # pools of like size together
    cells = min(CELLS, head.budget // CELL)
    groups = order.split(max(1, cells // ((length + 2) * int(sizes.float().mean()))))
    found = [compared(asked.some(ids), sentences if one else sentences[ids]) for ids in groups]
    return torch.cat(found)[order.argsort()[candidates.sentence], candidates.first, widths]


def entities_by_words(
    head: Instances,
    memory: Memory,
    words: WordTable,
    sentences: Tensor,
    asked: EndSums,
    candidates: Candidates,
    max_width: int,
) -> Tensor:
    """The same for the spans that are not null; for those that are it may be 1 for null.

    Most are, and a few of the neighbours' words are enough to see it, beside the entities of all neighbours. Not so
    with sentences apart among them, whose entities are in no table, nor where a sentence's scores might not fit into
    the budget; and for few sentences it does not pay, because calls cost more than numbers there.
    """
    sizes = words.counts[sentences].sum(1)  # [B]
    length, cells = asked.left.shape[1], head.budget // CELL
    fits = length * max_width * int(sizes.max()) <= cells
    if len(sentences) < LEAST or not fits or (words.some_apart and bool(words.apart[sentences].any())):
        return compared_by_words(head, memory, words, sentences, asked, candidates, max_width)
    rows = _doubtful(head, words, sentences, asked, candidates, max_width)
    found = asked.left.new_zeros(len(candidates), head.labels)
    found[:, 0] = 1
    if not len(rows):
        return found
    rows = rows[sizes[candidates.sentence[rows]].argsort(stable=True)]  # pools of like size together
    sentence, first, stop = (places[rows] for places in (candidates.sentence, candidates.first, candidates.stop))
    vectors = asked.left[sentence, first] + asked.right[sentence, stop - 1]
    ids, pools_of, counts = sentence.unique_consecutive(return_inverse=True, return_counts=True)
    size = max(1, min(SOME, cells // int((counts * sizes[ids]).max())))
    spans = [int(some.sum()) for some in counts.split(size)]
    for some, place, asking, own in zip(
        ids.split(size), *(one.split(spans) for one in (rows, vectors, pools_of)), strict=True
    ):
        found[place] = head.probabilities_of(asking, own - own[0], words.pool(sentences[some]), max_width)
    return found


def _doubtful(
    head: Instances, words: WordTable, sentences: Tensor, asked: EndSums, candidates: Candidates, max_width: int
) -> Tensor:
    """The candidates [N] that may be entities, in order."""
    length, few = asked.left.shape[1], sentences[:, :FEW]
    sizes = words.counts[few].sum(1) + max_width * words.entity_counts[sentences].sum(1)
    order, cells = sizes.argsort(), min(CELLS, head.budget // CELL)
    found = [
        head.doubtful(asked.some(ids), words.pool(few[ids], sentences[ids]), max_width)
        for ids in order.split(max(1, cells // ((length + 2) * int(sizes.float().mean()))))
    ]
    widths = candidates.stop - candidates.first - 1
    return torch.cat(found)[order.argsort()[candidates.sentence], candidates.first, widths].nonzero().flatten()


def compared_side_by_side(
    head: Instances, memory: Memory, sentences: Tensor, vectors: Tensor, candidates: Candidates
) -> Tensor:
    """P(y|s) [S, 1 + Y] with many sentences' pools padded and compared at once, as a GPU likes it."""
    padded = pad_sequence(list(vectors.split(candidates.counts.tolist())), batch_first=True)  # [B, S', H]
    most = int(memory.counts[sentences].sum(1).max())
    each = 4 * most * (2 * padded.shape[1] + 3 * vectors.shape[1] + 3 * (head.labels + 1))  # scores, vectors, votes
    size = max(1, head.budget // each)
    groups = [
        head.probabilities(some, pools(memory, ids))
        for some, ids in zip(padded.split(size), sentences.split(size), strict=True)
    ]
    real = torch.arange(padded.shape[1]) < candidates.counts[:, None]
    found: Tensor = torch.cat(groups)[real.to(vectors.device)]
    return found
