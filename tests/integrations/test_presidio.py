"""The recognizer in the analyzer of the real Presidio."""

import pytest
import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine

import nearspan
from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError
from nearspan.integrations.presidio import NearspanRecognizer

TEXT = "Ada lives in Oslo. Eve left New York."
NAMES = {"PERSON": "PERSON", "PLACE": "LOCATION"}


class BlankEngine(SpacyNlpEngine):
    """Words alone, without a model that would have to be downloaded."""

    def __init__(self) -> None:
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}


def analyzer(recognizer: NearspanRecognizer) -> AnalyzerEngine:
    registry = RecognizerRegistry(recognizers=[recognizer], supported_languages=["en"])
    return AnalyzerEngine(registry=registry, nlp_engine=BlankEngine(), supported_languages=["en"])


def test_the_analyzer_gives_what_the_model_finds(folders, classifier):
    engine = analyzer(NearspanRecognizer(folders["classifier"], NAMES))
    results = engine.analyze(TEXT, language="en")
    results = {(result.start, result.end, result.entity_type, result.score) for result in results}
    assert results == {(e.start, e.end, NAMES[e.label], e.score) for e in classifier(TEXT).entities} != set()
    assert set(engine.get_supported_entities("en")) == set(NAMES.values())


def test_only_the_entities_asked_for_are_given(classifier):
    engine = analyzer(NearspanRecognizer(classifier, NAMES))
    results = engine.analyze(TEXT, language="en", entities=["LOCATION"])
    assert {result.entity_type for result in results} == {"LOCATION"}


def test_labels_that_have_no_name_are_left_out(classifier):
    recognizer = NearspanRecognizer(classifier, {"PERSON": "PERSON"})
    assert {result.entity_type for result in recognizer.analyze(TEXT)} == {"PERSON"}
    assert NearspanRecognizer(classifier).supported_entities == ["PERSON", "PLACE"]


def test_a_threshold_counts(classifier):
    assert NearspanRecognizer(classifier, threshold=1.0).analyze(TEXT) == []


def test_the_decision_is_told(classifier):
    engine = analyzer(NearspanRecognizer(classifier, NAMES))
    result = engine.analyze(TEXT, language="en", return_decision_process=True)[0]
    assert result.analysis_explanation.recognizer == "NearspanRecognizer"
    assert "by the nearspan model" in result.analysis_explanation.textual_explanation
    assert result.recognition_metadata["recognizer_name"] == "NearspanRecognizer"


def test_every_fragment_is_a_result():
    class Linking:
        labels, path, classifies_given_spans = ["", "ADR"], "m", False

        def __call__(self, text, threshold=None) -> Document:
            return Document(text, (Entity(Span(((0, 7), (17, 21))), "ADR", 0.8),))

    results = NearspanRecognizer(Linking()).analyze("pain in arms and legs")
    assert [(result.start, result.end, result.score) for result in results] == [(0, 7, 0.8), (17, 21, 0.8)]


def test_a_label_that_the_model_does_not_know_is_an_error(classifier):
    with pytest.raises(ConfigError, match=r"`labels` has 'PERSN'.*did you mean 'PERSON'"):
        NearspanRecognizer(classifier, {"PERSN": "PERSON"})


def test_a_model_for_given_spans_is_refused(tiny, documents, tmp_path):
    nearspan.train(tiny("classifier", "suggester.kind=given"), documents, out=tmp_path / "m", device="cpu")
    with pytest.raises(ConfigError, match="classifies spans that are given"):
        NearspanRecognizer(tmp_path / "m")
