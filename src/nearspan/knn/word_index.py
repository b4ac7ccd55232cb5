"""Where words and runs of words are in the sentences of a datastore, in any case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nearspan.encoders.word_keys import word_keys
from nearspan.knn.memory_sentence import MemorySentence


@dataclass(frozen=True)
class WordIndex:
    """The words of M sentences, one after the other."""

    words: Tensor  # [W] their keys
    sentence: Tensor  # [W] which sentence a word is of
    begins: Tensor  # [M] each sentence's first word

    @classmethod
    def of(cls, sentences: Sequence[MemorySentence]) -> WordIndex:
        """That of some sentences."""
        lengths = torch.tensor([len(sentence.words) for sentence in sentences], dtype=torch.long)
        words = word_keys(sentence.tokens for sentence in sentences)
        return cls(words, torch.repeat_interleave(torch.arange(len(lengths)), lengths), lengths.cumsum(0) - lengths)

    def find(self, sentence: int, first: int, stop: int) -> tuple[Tensor, Tensor]:
        """Where the words `first` to `stop` of a sentence are: sentences [n], and the first word in each [n]."""
        start = int(self.begins[sentence])
        run = self.words[start + first : start + stop]
        places = (self.words[: max(0, len(self.words) - len(run) + 1)] == run[0]).nonzero().flatten()
        for more, word in enumerate(run[1:], start=1):
            places = places[self.words[places + more] == word]
        places = places[self.sentence[places] == self.sentence[places + len(run) - 1]]
        sentences = self.sentence[places]
        return sentences, places - self.begins[sentences]

    def and_then(self, other: WordIndex) -> WordIndex:
        """The same with the sentences of another one behind."""
        sentence = other.sentence + len(self.begins)
        begins = other.begins + len(self.words)
        columns = ((self.words, other.words), (self.sentence, sentence), (self.begins, begins))
        return WordIndex(*(torch.cat(pair) for pair in columns))
