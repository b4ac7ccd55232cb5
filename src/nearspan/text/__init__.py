"""Views of a text: words and sentences, with exact character offsets."""

from nearspan.text.sentences import Sentence, split

__all__ = ["Sentence", "split"]
