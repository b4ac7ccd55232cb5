"""The component in pipelines of the real spaCy."""

import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

import nearspan
from nearspan.errors import ConfigError, ModelError
from nearspan.integrations.spacy.annotations import to_document

TEXT = "Ada lives in Oslo. Bob Stone left New York for Rome!"
ROOT = Path(__file__).parents[3]


def triples(spans) -> set[tuple[int, int, str]]:
    return {(span.start_char, span.end_char, span.label_) for span in spans}


def test_it_finds_what_the_model_finds_in_the_same_words(pipeline, classifier):
    doc = pipeline("classifier")(TEXT)
    document = classifier(to_document(doc))
    assert triples(doc.spans["nearspan"]) == {(e.start, e.end, e.label) for e in document.entities} != set()
    assert doc.spans["nearspan"].attrs["scores"].tolist() == [entity.score for entity in document.entities]
    assert triples(doc.ents) == triples(doc.spans["nearspan"])


def test_many_texts_are_as_one(pipeline):
    nlp = pipeline("classifier")
    texts = [TEXT, "", "Eve left Lima", "Nobody lives here"] * 3
    piped = list(nlp.pipe(texts, batch_size=5))
    assert [doc.text for doc in piped] == texts
    assert [triples(doc.ents) for doc in piped] == [triples(nlp(text).ents) for text in texts]


def test_texts_come_with_their_context(pipeline):
    pairs = list(pipeline("classifier").pipe([("Ada left", 1), ("in Oslo", 2)], as_tuples=True))
    assert [context for _, context in pairs] == [1, 2]


def test_sentences_of_an_earlier_component_are_kept(pipeline):
    nlp = pipeline("classifier")
    nlp.add_pipe("sentencizer", first=True)
    assert to_document(nlp(TEXT)).sentences == ((0, 18), (19, 52))


def test_a_threshold_leaves_out_entities(pipeline):
    assert not pipeline("classifier", threshold=1.0)(TEXT).spans["nearspan"]
    assert {span.label_ for span in pipeline("classifier", threshold={"PLACE": 1.0})(TEXT).ents} == {"PERSON"}


def test_a_pipeline_on_disk_has_the_model_in_it(pipeline, folders, tmp_path):
    shutil.copytree(folders["instance"], tmp_path / "model")
    nlp = pipeline(tmp_path / "model")
    doc = nlp(TEXT)
    nlp.to_disk(tmp_path / "pipeline")
    shutil.rmtree(tmp_path / "model")
    again = spacy.load(tmp_path / "pipeline")
    other = again(TEXT)
    assert triples(other.spans["nearspan"]) == triples(doc.spans["nearspan"])
    assert other.spans["nearspan"].attrs["scores"].tolist() == doc.spans["nearspan"].attrs["scores"].tolist()
    assert other.ents[0]._.evidence.strength == "exact"
    assert again.pipe_labels["nearspan"] == ["PERSON", "PLACE"]


def test_writing_a_pipeline_leaves_the_model_where_it_was(pipeline, folders, tmp_path):
    shutil.copytree(folders["instance"], tmp_path / "model")
    nlp = pipeline(tmp_path / "model")
    nlp.to_disk(tmp_path / "pipeline")
    assert nlp.get_pipe("nearspan").load_model().path == tmp_path / "model"


def test_a_config_with_a_path_is_enough(pipeline):
    nlp = pipeline("classifier")
    again = spacy.util.load_model_from_config(nlp.config, auto_fill=True)
    assert triples(again(TEXT).ents) == triples(nlp(TEXT).ents)


def test_a_missing_model_is_an_error_when_it_is_needed(pipeline, tmp_path):
    with pytest.raises(ModelError, match="no model folder at"):
        pipeline(tmp_path / "none")("Ada")
    with pytest.raises(ConfigError, match="the component has no model"):
        spacy.blank("en").add_pipe("nearspan")(Doc(spacy.blank("en").vocab, words=["Ada"]))


def test_an_error_goes_to_the_pipelines_error_handler(pipeline, tmp_path):
    nlp, handled = pipeline(tmp_path / "none"), []
    nlp.set_error_handler(lambda name, component, docs, error: handled.append((name, len(docs), type(error))))
    assert list(nlp.pipe(["Ada", "Bob"])) == []
    assert handled == [("nearspan", 2, ModelError)]


def test_a_model_for_given_spans_is_refused(pipeline, tiny, documents, tmp_path):
    nearspan.train(tiny("classifier", "suggester.kind=given"), documents, out=tmp_path / "m", device="cpu")
    with pytest.raises(ConfigError, match="classifies spans that are given"):
        pipeline(tmp_path / "m")("Ada")


def test_two_models_stand_side_by_side(pipeline, folders):
    nlp = pipeline("classifier", threshold={"PLACE": 1.0})
    config = {"model": str(folders["instance"]), "device": "cpu", "spans_key": "other", "threshold": {"PERSON": 1.0}}
    nlp.add_pipe("nearspan", name="other", config=config)
    doc = nlp("Ada lives in Oslo")
    assert [(span.text, span._.evidence.strength) for span in doc.ents] == [("Ada", "nearest"), ("Oslo", "exact")]
    assert {key: [span.text for span in spans] for key, spans in doc.spans.items()} == {
        "nearspan": ["Ada"],
        "other": ["Oslo"],
    }


def test_the_entry_point_of_the_package_is_the_factory():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [(name, value)] = project["entry-points"]["spacy_factories"].items()
    factory = EntryPoint(name, value, "spacy_factories").load()
    assert (name, factory) == ("nearspan", import_module("nearspan.integrations.spacy").make_component)


def test_making_a_pipeline_loads_no_model():
    code = "import sys, nearspan.integrations.spacy, spacy; spacy.blank('en').add_pipe('nearspan');"
    code += "assert 'nearspan.model' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


class TestEvidence:
    def test_it_is_the_models(self, pipeline, instance):
        doc = pipeline("instance")(TEXT)
        evidence = [span._.evidence for span in doc.spans["nearspan"]]
        expected = instance.explain(instance(to_document(doc)))
        assert [each.to_dict() for each in evidence] == [each.to_dict() for each in expected]

    def test_any_span_can_be_asked_about(self, pipeline):
        evidence = pipeline("instance")(TEXT)[1:3]._.evidence
        assert (evidence.text, evidence.label) == ("lives in", "")

    def test_sentences_set_later_do_not_change_it(self, pipeline):
        nlp = pipeline("instance")
        before = nlp(TEXT)[6:8]._.evidence
        nlp.add_pipe("sentencizer")
        assert nlp(TEXT)[6:8]._.evidence.probabilities == before.probabilities

    def test_a_document_from_a_file_has_lost_it(self, pipeline):
        nlp = pipeline("instance")
        doc = Doc(nlp.vocab).from_bytes(nlp(TEXT).to_bytes())
        with pytest.raises(ModelError, match="no nearspan component has annotated this document here"):
            _ = doc[0:1]._.evidence


class TestScores:
    def examples(self, nlp, documents) -> list[Example]:
        made = []
        for document in documents:
            gold = nlp.make_doc(document.text)
            gold.spans["nearspan"] = [gold.char_span(e.start, e.end, label=e.label) for e in document.entities]
            gold.ents = list(gold.spans["nearspan"])
            made.append(Example(nlp.make_doc(document.text), gold))
        return made

    def test_they_are_nearspans_own(self, pipeline, classifier, documents):
        nlp = pipeline("classifier", threshold=0.6)
        scores = nlp.evaluate(self.examples(nlp, documents))
        ours = nearspan.evaluate(classifier, documents, threshold=0.6).scores
        for prefix in ("spans_nearspan", "ents"):
            assert [scores[f"{prefix}_{m}"] for m in "prf"] == pytest.approx([ours.precision, ours.recall, ours.f1])
            by_label = {label: part["f"] for label, part in scores[f"{prefix}_per_type"].items()}
            assert by_label == pytest.approx({label: counts.f1 for label, counts in ours.labels.items()})
        assert 0 < ours.f1 < 1

    def test_nested_entities_count(self, pipeline):
        nlp = pipeline("classifier")
        doc, gold = nlp.make_doc("Bank of Rome"), nlp.make_doc("Bank of Rome")
        doc.spans["nearspan"] = [Span(doc, 0, 3, "ORG"), Span(doc, 2, 3, "PLACE")]
        gold.spans["nearspan"] = [Span(gold, 0, 3, "ORG"), Span(gold, 2, 3, "PLACE"), Span(gold, 0, 1, "X")]
        scores = nlp.get_pipe("nearspan").score([Example(doc, gold)])
        assert (scores["spans_nearspan_p"], scores["spans_nearspan_r"]) == (1.0, 2 / 3)
