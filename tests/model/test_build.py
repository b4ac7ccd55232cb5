"""The assembly: parts that do not fit together are refused."""

import pytest

from nearspan.errors import ConfigError
from nearspan.losses import Vocabulary
from nearspan.model import Model
from nearspan.model.build import build_network
from nearspan.segment import split
from nearspan.training.data import TrainingData


@pytest.mark.parametrize("setting", ["bottleneck.size=4", "losses.boundary_smoothing.epsilon=0.1"])
def test_a_head_over_words_refuses_what_changes_spans(tiny, documents, setting: str):
    recipe = tiny("hire", setting)
    data = TrainingData.of(documents, recipe, split)
    with pytest.raises(ConfigError, match="reads words, not spans"):
        Model.from_corpus(recipe, data.sentences, data.labels, entities=data.entities)


def test_generators_are_built_where_there_are_words_for_them(tiny, documents):
    recipe, words = tiny("classifier", "losses.generators.size=4"), Vocabulary(("rain",))
    data = TrainingData.of(documents, recipe, recipe.splitter())
    without = Model.from_corpus(recipe, data.sentences, data.labels).network
    assert without.generators is None
    assert build_network(recipe, without.encoder, 2, words).generators is not None
    plain = recipe.override(["losses.generators=none"])
    assert build_network(plain, without.encoder, 2, words).generators is None
