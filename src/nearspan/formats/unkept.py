"""What a format could not keep of a corpus, as problems of the kind "changed"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nearspan.formats.corpus import Corpus, Problem, count_scores
from nearspan.io.paths import display_path


def list_changes(path: Path, counts: Mapping[str, int]) -> tuple[Problem, ...]:
    """A problem for each change that was made at least once."""
    name = display_path(path)
    return tuple(Problem("changed", f"{change}: {count}", name) for change, count in counts.items() if count)


def plain_text_changes(corpus: Corpus, ids: Iterable[str], format: str) -> dict[str, int]:
    """What a format of plain text does not keep; `ids` are those that documents are written with."""
    segmented = sum(document.words is not None or document.sentences is not None for document in corpus)
    return {
        f"{format} keeps no word and sentence boundaries; documents that had some": segmented,
        "scores not kept": count_scores(corpus),
        "document ids not kept": sum(document.id not in ("", id) for document, id in zip(corpus, ids, strict=True)),
    }
