"""A linear-chain CRF over the BIOES tags of words (Lafferty et al., 2001; Luo et al., 2020, equations 2 to 4).

Shapes: B sentences, T words, K = 1 + 4 Y tags. Tag 0 is O; label y from 1 on has the tags B, I, E and S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from nearspan.errors import ConfigError
from nearspan.heads.protocol import Head, HeadInputs, Query, Targets, spans_by_sentence
from nearspan.knn import Pool
from nearspan.registry import register
from nearspan.segment import LabelledSpan
from nearspan.settings import Settings

OUT, BEGIN, INSIDE, END, SINGLE = 0, 0, 1, 2, 3  # the tag of no entity; where in its label's four a tag stands
NEVER = -1e4  # the score of a transition that may not be: no sentence's other scores make up for it
CELLS = 2**26  # numbers that multiplying matrices in pairs may take at once


class CrfSettings(Settings):
    """A CRF over words: flat entities of any width."""

    kind: Literal["crf"] = "crf"
    dropout: float = Field(default=0.5, ge=0, lt=1)  # on the word states


@dataclass(frozen=True)
class Chain:
    """What a CRF says of a batch: scores of tags [B, T, K] and of tag after tag [K, K], and which words are real."""

    emissions: Tensor
    transitions: Tensor
    first: Tensor  # [K] of a sentence's first tag
    last: Tensor  # [K] of its last
    lengths: Tensor  # [B]

    def forward_scores(self) -> Tensor:
        """log of the summed weights of all paths up to each word and tag [B, T, K]; behind the end it is no matter."""
        score = self.first + self.emissions[:, 0]
        steps = [score]
        for emission in self.emissions.unbind(1)[1:]:
            score = torch.logsumexp(score[:, :, None] + self.transitions, 1) + emission
            steps.append(score)
        return torch.stack(steps, 1)

    def backward_scores(self) -> Tensor:
        """log of the summed weights of all ways on from each word and tag to the end [B, T, K]."""
        ends = self.lengths[:, None] - 1
        score = self.last.expand(len(ends), -1)
        steps = [score]
        for step in range(self.emissions.shape[1] - 1, 0, -1):
            onwards = torch.logsumexp(self.transitions + (score + self.emissions[:, step])[:, None], 2)
            score = torch.where(ends > step - 1, onwards, self.last)
            steps.append(score)
        return torch.stack(steps[::-1], 1)

    def partition(self, forward_scores: Tensor) -> Tensor:
        """log Z [B]: the denominator of equation 3."""
        return torch.logsumexp(_at(forward_scores, self.lengths - 1) + self.last, 1)

    def log_partition(self) -> Tensor:
        """log Z [B]: on a GPU, which waits for the host at each word, in pairs of words unless these are too many."""
        sentences, words, tags = self.emissions.shape
        fits = sentences * words * tags**3 <= 2 * CELLS
        return self.pairwise_partition() if self.emissions.is_cuda and fits else self.partition(self.forward_scores())

    def pairwise_partition(self) -> Tensor:
        """log Z [B] as a product of matrices [K, K], one a word, taken in pairs: log T steps instead of T."""
        sentences, words, tags = self.emissions.shape
        identity = torch.full_like(self.transitions, NEVER).fill_diagonal_(0)  # multiplies to no effect
        steps = self.transitions + self.emissions[:, 1:, None]  # [B, T - 1, K, K]
        real = torch.arange(1, words, device=steps.device) < self.lengths[:, None]
        steps = torch.where(real[..., None, None], steps, identity)
        missing = (1 << max(0, words - 2).bit_length()) - (words - 1)
        steps = torch.cat([steps, identity.expand(sentences, missing, tags, tags)], 1)  # a power of two
        while steps.shape[1] > 1:
            left, right = steps[:, ::2, :, :, None], steps[:, 1::2, None]
            steps = torch.logsumexp(left + right, 3)
        paths = (self.first + self.emissions[:, 0])[:, :, None] + steps[:, 0]  # [B, K, K] from first to last tag
        return torch.logsumexp((paths + self.last).flatten(1), 1)

    def score(self, tags: Tensor) -> Tensor:
        """Equation 2: the scores [B] of sequences of tags [B, T]."""
        real = torch.arange(tags.shape[1], device=tags.device) < self.lengths[:, None]
        emissions = self.emissions.gather(2, tags[..., None])[..., 0] * real
        steps = self.transitions[tags[:, :-1], tags[:, 1:]] * real[:, 1:]
        ends = tags.gather(1, self.lengths[:, None] - 1)[:, 0]
        return emissions.sum(1) + steps.sum(1) + self.first[tags[:, 0]] + self.last[ends]

    def best(self) -> Tensor:
        """Equation 4, by Viterbi's algorithm: the best tags [B, T], O behind the end."""
        ends = self.lengths - 1
        score = self.first + self.emissions[:, 0]
        finals, back = [score], []
        for emission in self.emissions.unbind(1)[1:]:
            highest = (score[:, :, None] + self.transitions).max(1)
            score = highest.values + emission
            finals.append(score)
            back.append(highest.indices)
        tag = (_at(torch.stack(finals, 1), ends) + self.last).argmax(1)  # [B]
        steps = [tag]
        for step in range(len(back), 0, -1):
            before = back[step - 1].gather(1, tag[:, None])[:, 0]
            tag = torch.where(ends >= step, before, tag)
            steps.append(tag)
        tags = torch.stack(steps[::-1], 1)
        return tags.masked_fill(torch.arange(tags.shape[1], device=tags.device) > ends[:, None], OUT)

    def segments(self, sentence: Tensor, first: Tensor, stop: Tensor) -> Tensor:
        """P(B I ... I E over words `first` to `stop`, or S over one | x) [S, Y] for spans of the batch, exactly.

        The weight of all paths through a segment is that of all ways to its first tag, times its own, times that of
        all ways on from its last. Sums of scores along INSIDE make a segment's own weight a difference.
        """
        forward, backward = self.forward_scores(), self.backward_scores()
        total = self.partition(forward)[sentence][:, None]  # [S, 1]
        last = stop - 1
        begin, inside, end, single = (_tags(self.emissions.shape[2], place, sentence) for place in range(4))
        steps = self.transitions
        alone = forward[sentence, first][:, single] + backward[sentence, first][:, single]
        along = self.emissions[:, :, inside] + steps[inside, inside]
        sums = nn.functional.pad(along.cumsum(1), (0, 0, 1, 0))  # [B, T + 1, Y]
        longer = steps[begin, inside] + steps[inside, end] - steps[inside, inside]
        between = longer + sums[sentence, last] - sums[sentence, first + 1]
        between = torch.where((stop - first == 2)[:, None], steps[begin, end], between)
        wide = forward[sentence, first][:, begin] + between + self.emissions[sentence, last][:, end]
        wide = wide + backward[sentence, last][:, end]
        return (torch.where((stop - first == 1)[:, None], alone, wide) - total).exp()


class CrfHead(Head):
    """Scores tags from word states; learned transitions, and none that would break BIOES."""

    Settings: ClassVar[type[Settings]] = CrfSettings
    reads_words: ClassVar[bool] = True
    capturable: ClassVar[bool] = True
    rows_of_label: ClassVar[int] = 4  # its tags

    def __init__(self, settings: CrfSettings, inputs: HeadInputs) -> None:
        super().__init__()
        self.rows_before_labels = 1
        tags = 1 + 4 * inputs.labels
        self.dropout = nn.Dropout(settings.dropout)
        self.emissions = nn.Linear(inputs.word_size, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))
        nn.init.xavier_uniform_(self.emissions.weight)
        nn.init.zeros_(self.emissions.bias)
        allowed, opens, closes = grammar(inputs.labels)
        self.register_buffer("forbidden", ~allowed, persistent=False)
        self.register_buffer("unopened", ~opens, persistent=False)
        self.register_buffer("unclosed", ~closes, persistent=False)

    @classmethod
    def build(cls, settings: CrfSettings, inputs: HeadInputs) -> CrfHead:
        """The head over word states."""
        if not inputs.has_null:
            raise ConfigError("the crf head reads words and cannot label given spans: set suggester.kind=all")
        return cls(settings, inputs)

    def chain(self, query: Query, *, exact: bool = False) -> Chain:
        """The CRF of a batch's word states; `exact`: in double precision."""
        dtype = torch.float64 if exact else torch.float32
        emissions = self.emissions(self.dropout(query.word_states)).to(dtype)
        transitions = self.transitions.to(dtype).masked_fill(self.forbidden, NEVER)  # type: ignore[arg-type]
        first = self.first.to(dtype).masked_fill(self.unopened, NEVER)  # type: ignore[arg-type]
        last = self.last.to(dtype).masked_fill(self.unclosed, NEVER)  # type: ignore[arg-type]
        return Chain(emissions, transitions, first, last, query.batch.mask.sum(1))

    def loss(self, query: Query, targets: Targets, pool: Pool | None = None) -> Tensor:  # noqa: ARG002
        """-log p(y|x) of the gold tags [B, T], summed over sentences (equation 3)."""
        if targets.words is None:
            raise ValueError("a head that reads words needs the words' targets")
        chain = self.chain(query)
        return (chain.log_partition() - chain.score(targets.words)).sum()

    def predict_proba(self, query: Query, *, entities_only: bool = False) -> Tensor:  # noqa: ARG002
        """P(y|s) [S, 1 + Y] of the candidates."""
        candidates = query.candidates
        return self.predict_proba_of(query, candidates.sentence, candidates.first, candidates.stop)

    def predict_proba_of(self, query: Query, sentence: Tensor, first: Tensor, stop: Tensor) -> Tensor:
        """P(y|s) [N, 1 + Y]: of each label that the span is an entity with it, and of null that it is none."""
        segments = self.chain(query, exact=True).segments(sentence, first, stop)
        null = (1 - segments.sum(1, keepdim=True)).clamp(min=0)
        return torch.cat([null, segments], 1).float()

    def predict(self, query: Query, probabilities: Tensor | None = None) -> list[list[LabelledSpan[int]]]:
        """The entities of the best tags; given P(y|s) [S, 1 + Y], the candidates that are likely entities."""
        if probabilities is not None:
            return super().predict(query, probabilities)
        return spans_by_sentence(*self._best_entities(query), len(query.batch.ids))

    def predict_beyond_candidates(self, query: Query) -> list[list[LabelledSpan[int]]]:
        """The entities of the best tags that are wider than a candidate."""
        index, scores = self._best_entities(query)
        wide = index[:, 2] - index[:, 1] > query.network.suggester.max_width
        return spans_by_sentence(index[wide], scores[wide], len(query.batch.ids))

    def word_targets(self, lengths: Sequence[int], entities: Sequence[Sequence[LabelledSpan[int]]]) -> Tensor:
        """The BIOES tags [R] of all words of a corpus."""
        return bioes_tags(lengths, entities)

    def _best_entities(self, query: Query) -> tuple[Tensor, Tensor]:
        """The entities of the best tags [N, 4] (sentence, first, stop, label), and the probability of each [N]."""
        chain = self.chain(query, exact=True)
        index = entities_of(chain.best())
        sentence, first, stop, label = index.unbind(1)
        return index, chain.segments(sentence, first, stop).gather(1, label[:, None] - 1)[:, 0]


def grammar(labels: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which tag may follow which [K, K], and which may be a sentence's first [K] and last [K].

    >>> allowed, opens, closes = grammar(labels=1)  # O B I E S
    >>> allowed.int().tolist()
    [[1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0], [1, 1, 0, 0, 1], [1, 1, 0, 0, 1]]
    >>> opens.int().tolist(), closes.int().tolist()
    ([1, 1, 0, 0, 1], [1, 0, 0, 1, 1])
    """
    tags = torch.arange(1 + 4 * labels)
    place, label = (tags - 1) % 4, (tags - 1) // 4
    out = tags == OUT
    opens = out | (place == BEGIN) | (place == SINGLE)  # begins an entity, or is in none
    closes = out | (place == END) | (place == SINGLE)
    within = ~closes[:, None] & ~opens & (label[:, None] == label)
    return within | (closes[:, None] & opens), opens, closes


def bioes_tags(lengths: Sequence[int], entities: Sequence[Sequence[LabelledSpan[int]]]) -> Tensor:
    """The BIOES tags [R] of all words of sentences with flat entities, whose labels are from 1 on.

    >>> entities = [[LabelledSpan.of(0, 3, 1)], [LabelledSpan.of(0, 1, 2)]]
    >>> bioes_tags([4, 1], entities).tolist()  # B I E O of label 1, S of label 2
    [1, 2, 3, 0, 8]
    """
    tags = [[OUT] * length for length in lengths]
    for sentence, spans in zip(tags, entities, strict=True):
        for span in spans:
            places = [SINGLE] if span.width == 1 else [BEGIN, *[INSIDE] * (span.width - 2), END]
            sentence[span.first : span.stop] = [1 + 4 * (span.label - 1) + place for place in places]
    return torch.tensor([tag for sentence in tags for tag in sentence], dtype=torch.long)


def entities_of(tags: Tensor) -> Tensor:
    """The entities [N, 4] (sentence, first, stop, label) of well-formed tags [B, T].

    >>> entities_of(torch.tensor([[1, 2, 3, 0, 8]])).tolist()
    [[0, 0, 3, 1], [0, 4, 5, 2]]
    """
    place, some = (tags - 1) % 4, tags != OUT
    opened = (some & ((place == BEGIN) | (place == SINGLE))).nonzero()
    closed = (some & ((place == END) | (place == SINGLE))).nonzero()
    labels = (tags[opened[:, 0], opened[:, 1]] - 1) // 4 + 1
    return torch.stack([opened[:, 0], opened[:, 1], closed[:, 1] + 1, labels], 1)


def _tags(tags: int, place: int, like: Tensor) -> Tensor:
    """The tags [Y] of all labels at one of the four places."""
    return torch.arange(1 + place, tags, 4, device=like.device)


def _at(scores: Tensor, steps: Tensor) -> Tensor:
    """Scores [B, K] of each sentence at one of its steps, from [B, T, K]."""
    return scores.gather(1, steps[:, None, None].expand(-1, 1, scores.shape[2]))[:, 0]


register("head", CrfHead)
