"""What a word feature is: sentences to a vector for each of their words [B, T, size].

Features stand side by side in an encoder. One from another package is a subclass of `WordFeature` with `Settings`,
registered by `nearspan.register("word_feature", MyFeature)`; a recipe names it in `[encoder.features.NAME]`.

Shapes: B sentences in a batch, T words in its longest sentence, R words in the whole corpus.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from nearspan.encoders.batches import Batch, Features
from nearspan.segment import Sentence
from nearspan.settings import Settings


class WordFeature(nn.Module):
    """Vectors of words.

    class WordLength(WordFeature):
        Settings = WordLengthSettings  # kind: Literal["word_length"] = "word_length"
        size = 1

        @classmethod
        def from_vocabulary(cls, settings, vocabulary):
            return cls()

        def prepare(self, sentences):
            lengths = [float(len(token)) for sentence in sentences for token in sentence.tokens]
            return {"lengths": torch.tensor(lengths)}  # [R]

        def forward(self, batch, features):
            return features["lengths"][batch.rows][..., None]  # [B, T, 1]
    """

    Settings: ClassVar[type[Settings]]
    capturable: ClassVar[bool] = False  # reads a batch's rows and mask alone and never waits: for CUDA graphs
    from_file: bool = False  # whether a file gave its vectors, so that `pretrained_vectors` tells these apart
    size: int  # of a word's vector
    vocabulary: Any = None  # JSON content that `from_vocabulary` needs beside the weights

    @classmethod
    def from_corpus(cls, settings: Any, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """The feature for a corpus: vocabularies from `train`, and what is known of words anyway for `others` too."""
        del train, others
        return cls.from_vocabulary(settings, None)

    @classmethod
    def from_vocabulary(cls, settings: Any, vocabulary: Any) -> Self:
        """The feature with this vocabulary, with weights still to be filled in."""
        return cls(settings, vocabulary)

    def grow(self, train: Sequence[Sentence], others: Sequence[Sentence]) -> Self:
        """The trained feature with vocabularies that know the words of more training sentences too; or itself.

        What it knows already stays as it is.
        """
        del train, others
        return self

    def save(self, folder: Path) -> None:
        """Write what is no JSON to a folder of its own; there is nothing by default."""

    @classmethod
    def from_disk(cls, settings: Any, folder: Path, read_vocabulary: Callable[[], Any]) -> Self:
        """The feature as it was saved, with weights still to be filled in."""
        del folder
        return cls.from_vocabulary(settings, read_vocabulary())

    def prepare(self, sentences: Sequence[Sentence]) -> Features:
        """What `forward` needs of a corpus, once for all its batches: tensors, which follow the device, and others."""
        raise NotImplementedError

    def forward(self, batch: Batch, features: Features) -> Tensor | list[Tensor]:
        """Vectors of the batch's words [B, T, size]; `features` is what `prepare` made of the corpus.

        A feature that has several layers gives a list of them, the lowest first.
        """
        raise NotImplementedError

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Weights that began as a pretrained encoder's; they learn at a rate of their own."""
        return []


def first_named(features: Iterable[str], *names: str) -> str:
    """The first of some names that is a feature's; where none is, the first feature's.

    >>> first_named(["characters", "vectors"], "transformer", "vectors")
    'vectors'
    """
    present = list(features)
    return next((name for name in names if name in present), present[0])
