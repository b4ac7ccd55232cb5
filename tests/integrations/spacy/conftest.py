"""Pipelines with a tiny model."""

from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

import nearspan.integrations.spacy as integration


@pytest.fixture
def pipeline(folders: dict[str, Path]) -> Callable[..., Language]:
    """A blank English pipeline with the component of a model: a name of `folders`, or a folder."""
    assert integration.make_component  # an editable install of before knows no entry point

    def make(model: str | Path, **config: object) -> Language:
        nlp = spacy.blank("en")
        nlp.add_pipe("nearspan", config={"model": str(folders.get(str(model), model)), "device": "cpu"} | config)
        return nlp

    return make
