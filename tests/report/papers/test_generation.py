import sys

import pytest

import nearspan
from nearspan.errors import ConfigError, ResourceError
from nearspan.report.papers.generation import bleu2, generation


def test_bleu_2_is_the_geometric_mean_of_both_precisions_with_the_brevity_penalty():
    assert bleu2(["a b c"], ["a b c"]) == pytest.approx(1)
    assert bleu2(["a b x"], ["a b c"]) == pytest.approx((2 / 3 * 1 / 2) ** 0.5)
    assert bleu2(["a b"], ["a b c"]) == pytest.approx(2.718281828 ** (1 - 3 / 2))
    assert bleu2(["x y"], ["a b"]) == 0
    assert bleu2([], []) == 0


def test_entities_are_generated_with_their_synonyms(generating, documents):
    result = generation(generating, documents)
    originals = [
        entity.span.text(document.text).lower() for document in documents for entity in sorted(document.entities)
    ]
    assert sorted(generated.original for generated in result.entities) == sorted(originals)
    assert result.ceiling == pytest.approx(1)
    assert result.bleu2 == bleu2(
        [generated.reconstruction for generated in result.entities],
        [generated.original for generated in result.entities],
    )
    assert result.bleu2 > 0.5
    assert {generated.synonym for generated in result.entities if generated.original == "oslo"} == {
        "the capital of norway"
    }


def test_words_that_were_never_learned_lower_the_ceiling(generating):
    result = generation(generating, [nearspan.markup("[Ada Zork](PERSON) left [New York](PLACE)")])
    assert [generated.original for generated in result.entities] == ["ada zork", "new york"]
    assert result.ceiling == pytest.approx((3 / 4 * 1 / 2) ** 0.5)


def test_a_corpus_without_entities_has_nothing_to_tell(generating):
    result = generation(generating, [nearspan.markup("Nobody lives here")])
    assert (result.entities, result.bleu2, result.ceiling) == ([], 0.0, 0.0)


def test_a_model_without_generators_says_so(classifier, documents):
    with pytest.raises(ConfigError, match="no generators"):
        generation(classifier, documents)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(ResourceError, match=r"sacrebleu.*nearspan\[viz\]"):
        bleu2(["a"], ["a"])
