"""The assembly: parts that do not fit together are refused."""

import pytest

from nearspan.errors import ConfigError
from nearspan.model import Model
from nearspan.segment import split
from nearspan.training.data import TrainingData


@pytest.mark.parametrize("setting", ["bottleneck.size=4", "losses.boundary_smoothing.epsilon=0.1"])
def test_a_head_over_words_refuses_what_changes_spans(tiny, documents, setting: str):
    recipe = tiny("hire", setting)
    data = TrainingData.of(documents, recipe, split)
    with pytest.raises(ConfigError, match="reads words, not spans"):
        Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)
