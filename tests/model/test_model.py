"""The model: exact offsets for any text, the same answer in any company, long input whole."""

import copy
import gc
import weakref

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearspan
from nearspan.document import Document, Entity
from nearspan.errors import ConfigError, ModelError
from nearspan.model import Model, predict
from nearspan.model.predict import SentenceWindows
from nearspan.segment import split

TRICKY = (
    "عاشت Ada في Oslo مع Bob",
    "Ada 👩‍🚀 met Bob 🇳🇴 in Oslo 👍🏽.",
    "Ada\u0301 lives in Os\u0301lo and Ada in Oslo",
    "Ada\u200b lives\u00a0in\u2003Oslo\u2028Bob\r\nleft\tRome",
    "𝔸da Ada 𐍈 Oslo",
    "\ufeffAda lives in Oslo",
    "Ada lives in Oslo\x00Bob",
    "北京 Ada 住在 Oslo。Bob 也是",
)


def found(model: Model, text: str) -> list[tuple[str, str]]:
    [document] = model.pipe([text])
    assert document.text == text
    for entity in document.entities:
        assert text[entity.start : entity.end] == entity.span.text(text)
        assert entity.span.text(text).strip() == entity.span.text(text) != ""
        assert 0 < entity.score <= 1
    return [(entity.span.text(text), entity.label) for entity in document.entities]


def test_it_knows_its_training_data(instance: Model, classifier: Model, documents):
    for model in (instance, classifier):
        assert nearspan.evaluate(model, documents).scores.f1 > 0.8


@pytest.mark.parametrize("text", TRICKY)
def test_offsets_are_exact_in_any_script(instance: Model, text: str):
    assert {word for word, _ in found(instance, text)} & {"Ada", "Oslo", "Bob", "Rome"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.sampled_from(["Ada", "Oslo", " ", ". ", "\n"]), st.text(max_size=6)), max_size=12))
def test_any_text_has_exact_offsets_or_no_entities(instance: Model, pieces: list[str]):
    found(instance, "".join(pieces))


@pytest.mark.parametrize("text", ["", " ", "\n\t \u2003", "\u200b"])
def test_texts_without_words_have_no_entities(instance: Model, classifier: Model, text: str):
    assert found(instance, text) == []
    assert found(classifier, text) == []


def test_no_documents(instance: Model):
    assert list(instance.pipe([])) == []


def test_a_very_long_document_is_read_some_sentences_at_a_time(instance: Model, documents, monkeypatch):
    long = Document("\n\n".join(document.text for document in documents))
    [whole] = instance.pipe([long])
    of, seen = SentenceWindows.of, []
    monkeypatch.setattr(
        SentenceWindows,
        "of",
        lambda network, sentences: seen.append(sum(map(len, sentences))) or of(network, sentences),
    )
    monkeypatch.setattr(predict, "BLOCK", 12)
    [annotated] = instance.pipe([long])
    assert len(seen) > 3
    assert max(seen) <= 12
    assert [(entity.span, entity.label) for entity in annotated.entities] == [
        (entity.span, entity.label) for entity in whole.entities
    ]
    assert annotated.entities


@pytest.mark.parametrize("text", ["Ada lives in Oslo", nearspan.Document("Ada lives in Oslo")])
def test_a_text_alone_is_no_list_of_letters(instance: Model, text):
    with pytest.raises(TypeError, match="pipe takes several texts"):
        instance.pipe(text)


@pytest.mark.parametrize("text", [3, None, b"Ada"])
def test_what_is_no_text_and_no_document_is_a_type_error(instance: Model, text):
    with pytest.raises(TypeError, match=f"expected a text .* found {type(text).__name__}"):
        list(instance.pipe([text]))


def test_no_neighbours_cannot_be_listed(instance: Model):
    with pytest.raises(ConfigError, match="k is 0: list one neighbour at least"):
        instance.explain("Ada lives in Oslo", 0)


def test_documents_are_annotated_in_order_whatever_their_company(instance: Model, documents):
    alone = [next(instance.pipe([document])) for document in documents]
    together = list(instance.pipe(documents))
    backwards = list(instance.pipe(reversed(documents)))[::-1]
    assert alone == together == backwards
    for left, right in zip(alone, together, strict=True):
        assert [e.score for e in left.entities] == pytest.approx([e.score for e in right.entities], abs=1e-5)


def test_one_document_twice_is_two_documents(instance: Model, documents):
    first, second = instance.pipe([documents[0], documents[0]])
    assert first == second
    assert first.entities


def test_gold_entities_say_nothing(instance: Model, documents):
    bare = Document(documents[0].text, (Entity.of(4, 9, "PLACE"),), id="d0")
    assert next(instance.pipe([bare])).entities == next(instance.pipe([bare.text])).entities


def test_given_words_and_sentences_are_kept(instance: Model):
    document = Document("Ada-Oslo", words=((0, 3), (3, 4), (4, 8)), sentences=((0, 4), (4, 8)), id="x")
    [annotated] = instance.pipe([document])
    assert (annotated.words, annotated.sentences, annotated.id) == (document.words, document.sentences, "x")
    assert {(e.start, e.end) for e in annotated.entities} <= {(0, 3), (3, 4), (4, 8), (0, 4)}


def test_results_come_before_all_is_read(instance: Model, monkeypatch):
    monkeypatch.setattr(predict, "BLOCK", 8)
    taken = []

    def stream():
        for number in range(100):
            taken.append(number)
            yield "Ada lives in Oslo"

    next(instance.pipe(stream()))
    assert len(taken) <= 4


def test_a_text_of_100_000_words(instance: Model):
    text = "Ada lives in Oslo. " * 20_000
    entities = found(instance, text)
    assert entities == found(instance, "Ada lives in Oslo. ") * 20_000


@pytest.mark.parametrize("name", ["instance", "classifier"])
def test_a_sentence_of_5_000_words_is_read_whole_and_alike(folders, name: str):
    model = nearspan.load(folders[name], device="cpu")
    text = "Ada lives in Oslo and " * 1000
    sentences = split(Document(text))
    assert [len(sentence) for sentence in sentences] == [5000]
    windows = SentenceWindows.of(model.network, sentences)
    seen: dict[int, dict[tuple[int, int, int], float]] = {}
    for part, spans in zip(windows.windows, model.predictor.predict_spans(windows.corpus), strict=True):
        for span in spans:
            if part.owns(span.first):
                repetition, word = divmod(part.start + span.first, 5)
                scores = seen.setdefault(repetition, {})
                place = (word, span.stop - span.first, span.label)
                assert place not in scores  # every span is read by one window
                scores[place] = span.score
    usual = {place: score for place, score in seen[500].items() if score > 0.6}
    assert usual
    for repetition in range(20, 980):  # across all windows
        scores = seen[repetition]
        assert [scores[place] for place in usual] == pytest.approx(list(usual.values()), abs=0.02)
    [document] = model.pipe([text])
    ends = [0, *(entity.end for entity in document.entities)]
    assert all(end <= entity.start for end, entity in zip(ends, document.entities, strict=False))
    assert document.entities[0].start < 100
    assert document.entities[-1].end > len(text) - 100


def test_explaining_a_span_far_into_a_long_sentence(instance: Model):
    text = "they left in the rain and " * 400 + "Ada lives in Oslo " + "and " * 300
    [document] = instance.pipe([text])
    entity = next(e for e in document.entities if e.span.text(text) == "Ada")
    evidence = instance.explain_span(text, entity.span)
    assert evidence.label == entity.label
    assert evidence.probabilities[entity.label] == pytest.approx(entity.score, abs=1e-5)


def test_characters_as_words(tiny, tmp_path):
    texts = ("[王小明](人)住在[北京](地)", "[李华](人)去[上海](地)了", "[北京](地)很大", "[王小明](人)走了", "天下雨")
    documents = [nearspan.markup(text) for text in texts]
    recipe = tiny(
        "instance", "characters_as_words=true", "training.epochs=30", "training.learning_rate=0.02", "training.batch=2"
    )
    model = nearspan.train(recipe, documents, documents, out=tmp_path / "m", device="cpu").model
    assert nearspan.evaluate(model, documents).scores.f1 > 0.7
    assert ("北京", "地") in found(model, "北京很大")
    assert model.explain_span("abc北京", nearspan.Span.of(1, 2)).text == "b"  # one letter is a word
    loaded = nearspan.load(tmp_path / "m", device="cpu")
    assert found(loaded, "王小明住在e\u0301上海") == found(model, "王小明住在e\u0301上海")


def test_searching_the_whole_memory_is_only_for_the_instance_head(instance: Model, classifier: Model):
    with pytest.raises(ConfigError, match="does not search its datastore"):
        classifier.set_search("whole")
    with pytest.raises(ConfigError, match="`search` is 'everywhere'; known: nearest, whole"):
        instance.set_search("everywhere")
    assert instance.set_search("whole").recipe.head.search == "whole"
    assert instance.set_search("nearest").network.head.search == "nearest"


def test_whole_and_nearest_agree_when_all_sentences_are_near(instance: Model, documents):
    instance.network.head.settings = instance.network.head.settings.model_copy(update={"neighbours": 1000})
    nearest = list(instance.pipe(documents))
    for left, right in zip(nearest, instance.set_search("whole").pipe(documents), strict=True):
        assert left == right
        assert [e.score for e in left.entities] == pytest.approx([e.score for e in right.entities], abs=1e-5)


def test_it_says_what_it_is(instance: Model):
    assert repr(instance) == f"Model(instance, labels PERSON, PLACE, 12 sentences in memory, {instance.path})"
    instance.datastore = instance.path = None
    assert repr(instance) == "Model(instance, labels PERSON, PLACE)"


def test_a_copy_predicts_from_its_own_memory(instance: Model, documents):
    other = copy.copy(instance)
    other.datastore = None
    assert instance(documents[0]).entities
    with pytest.raises(ModelError):
        other(documents[0])


def test_a_model_that_is_let_go_frees_its_memory_at_once(folders):
    model = nearspan.load(folders["classifier"], device="cpu")
    model("Ada lives in Oslo")
    here = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert here() is None
    finally:
        gc.enable()


def test_it_says_how_much_of_a_prediction_is_its_memorys(instance: Model, classifier: Model):
    assert (instance.datastore_weight, classifier.datastore_weight) == (1.0, 0.0)
    assert classifier.interpolate(0.3).datastore_weight == 0.3
    classifier.datastore = None
    assert classifier.datastore_weight == 0.0


def test_without_a_memory_there_is_nothing_to_interpolate_with(classifier: Model):
    classifier.datastore = None
    with pytest.raises(ModelError, match="no memory to interpolate with"):
        classifier.interpolate(0.3)
    assert classifier.interpolate(0).recipe.interpolation is None
