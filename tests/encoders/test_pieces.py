"""Candidates over pieces: units partition the words, entities are whole words, and all the rest works as with words."""

import random
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import nearspan
from nearspan.config import Recipe
from nearspan.document import Document, Entity, Span
from nearspan.encoders import Encoder, EncoderSettings, Splitter, load_tokenizer
from nearspan.encoders.transformer import TransformerSettings
from nearspan.encoders.word_pieces import PieceCodes, PieceTokenizer, encode_pieces, split_units, unit_pieces
from nearspan.errors import ConfigError, NearspanError
from nearspan.evaluation import evaluate
from nearspan.model import Model
from nearspan.model.predict import Predictor, SentenceWindows
from nearspan.segment import LabelledSpan, Sentence, align
from nearspan.segment.windows import split_windows

KINDS = ("bert", "roberta", "deberta")
SENTENCES = (  # the tiny BERT has adas as ada ##s, oslosx as oslo ##s ##x
    "[Adas](PERSON) lives in [Oslosx](PLACE)",
    "[Bobsy Stone](PERSON) lives in [Romed](PLACE)",
    "[Eves](PERSON) left [New Yorkx](PLACE) for [Romed](PLACE)",
    "[Adas](PERSON) met [Bobsy](PERSON) in [Parisy](PLACE)",
    "[Parisy](PLACE) is far from [Oslosx](PLACE)",
    "The rains fell on 21 March",
    "They left [Oslosx](PLACE) in the rains",
    "Nobody lives here",
)
TINY = (
    "training.batch=4",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "representation.dropout=0",
    "representation.projection.size=16",
    "representation.projection.width_size=4",
    "representation.projection.dropout=0",
    "representation.projection.vector_dropout=0",
    "representation.projection.bilstm.size=8",
    "representation.projection.bilstm.dropout=0",
    "losses.boundary_smoothing=none",
)


def unigram() -> PieceTokenizer:
    """Like SentencePiece: a blank before every word, a normaliser that changes lengths, rare characters unknown."""
    names = ["<unk>", "\u2581", "a", "b", "ab", "\u2581a", "\u2581ab", "fi", "é", "京", "..."]
    tokenizer = Tokenizer(models.Unigram([(name, -float(i)) for i, name in enumerate(names)], unk_id=0))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return PieceTokenizer(tokenizer, unknown=0, padding=0, longest=512)


@pytest.fixture(scope="module")
def tokenizers(encoders) -> dict[str, object]:
    return {**{kind: load_tokenizer(str(encoders[kind])) for kind in KINDS}, "unigram": unigram()}


def document(tokens: list[str]) -> Document:
    words, at = [], 0
    for token in tokens:
        words.append((at, at + len(token)))
        at += len(token) + 1
    return Document(" ".join(tokens), words=tuple(words), sentences=((0, at - 1),))


odd = st.text(
    st.one_of(
        st.sampled_from("adsxyob2.'"),
        st.sampled_from(
            "\u0301\u0308\u200b\u200d\ufeff\u00ad\u2026\ufb01\u00e9\u4eac\u0e33\u1100\uac01\U0001f600\ufe0f"
        ),
        st.characters(exclude_categories=("Cs",)),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("kind", [*KINDS, "unigram"])
@given(tokens=st.lists(odd, min_size=1, max_size=6))
def test_units_partition_every_word_and_share_out_every_piece(tokenizers, kind: str, tokens: list[str]):
    whole = document(tokens)
    [view] = Splitter(tokenizer=tokenizers[kind])(whole)
    assert [first for first, _ in view.wholes] == [0, *(stop for _, stop in view.wholes[:-1])]
    assert view.wholes[-1][1] == len(view)
    for (start, end), (first, stop) in zip(whole.words, view.wholes, strict=True):
        edges = [start, *(last for _, last in view.words[first:stop])]
        assert [begin for begin, _ in view.words[first:stop]] == edges[:-1]
        assert edges == sorted(set(edges))
        assert edges[-1] == end
    pieces = encode_pieces([view], tokenizers[kind])[0]
    given_out = unit_pieces(view, pieces)
    assert all(given_out)
    assert [position for part in given_out for position in part] == list(range(len(pieces.ids)))


def test_the_units_of_words_that_tokenizers_see_differently(tokenizers):
    tokens = ["oslosx", "\u200d", "a\u00e9b", "e\u0301", "\U0001f600s"]

    def see(kind: str) -> list[list[str]]:
        [view] = Splitter(tokenizer=tokenizers[kind])(document(tokens))
        return [view.tokens[first:stop] for first, stop in view.wholes]

    assert see("bert") == [["oslo", "s", "x"], ["\u200d"], ["a\u00e9b"], ["e\u0301"], ["\U0001f600s"]]
    assert see("roberta") == [
        ["oslo", "s", "x"],
        ["\u200d"],
        ["a", "\u00e9", "b"],
        ["e", "\u0301"],
        ["\U0001f600", "s"],
    ]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], [(0, 4)]),
        ([(0, 4)], [(0, 4)]),
        ([(1, 3)], [(0, 4)]),  # characters before the first piece, and after the last
        ([(0, 1), (2, 4)], [(0, 2), (2, 4)]),
        ([(0, 2), (1, 3), (3, 4)], [(0, 3), (3, 4)]),  # two share a character
        ([(0, 0), (0, 2), (2, 2), (2, 4)], [(0, 2), (2, 4)]),
        ([(0, 4), (0, 4)], [(0, 4)]),
    ],
)
def test_pieces_that_cannot_be_told_apart_are_one_unit(places, expected):
    assert split_units(places, 4) == expected


def test_a_unit_that_the_tokenizer_does_not_see_again_reads_its_words_first_piece():
    view = Sentence(Document("abcd"), 0, ((0, 1), (1, 3), (3, 4)), wholes=((0, 3),))
    assert unit_pieces(view, PieceCodes([7, 8], [(0, 3), (3, 4)], [[0, 1]])) == [[0], [0], [1]]


def test_entities_inside_a_word_are_misaligned_though_pieces_begin_there(tokenizers):
    text = "Adas left Oslosx"
    alignment = align(
        Splitter(tokenizer=tokenizers["bert"])(Document(text)), [Entity.of(0, 4, "A"), Entity.of(10, 14, "B")]
    )
    assert [(gold.first, gold.stop) for gold in alignment.golds[0]] == [(0, 2)]
    assert [(entity.label, reason) for entity, reason in alignment.unreachable] == [("B", "misaligned")]
    assert alignment.coverage.words == 3


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 9, 300, 2500]), st.integers(1, 80))
def test_windows_hold_whole_words_and_own_every_span_once(seed: int, most: int, widest: int):
    sizes = random.Random(seed).choices(range(1, most + 1), k=4000 // most + 5)  # pieces of each word
    count, wholes = 0, []
    for size in sizes:
        wholes.append((count, count + size))
        count += size
    view = Sentence(Document("x" * count), 0, tuple((i, i + 1) for i in range(count)), wholes=tuple(wholes))
    parts = split_windows(view, widest)
    firsts = {first for first, _ in wholes}
    assert all(part.start in firsts for part in parts)
    assert all({part.start + len(part.sentence)} <= {*firsts, count} for part in parts)
    owned = [part.start + first for part in parts for first in range(len(part.sentence)) if part.owns(first)]
    assert owned == list(range(count))
    for part in parts:
        assert part.sentence.wholes[-1][1] == len(part.sentence)
        last = part.start + part.stop - 1
        assert min(last + widest, count) <= part.start + len(part.sentence)  # its widest span ends in the window


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_in_context_the_states_of_pieces_are_those_of_the_whole_run(encoders, pooling: str):
    from transformers import AutoModel

    chosen = TransformerSettings(name=str(encoders["bert"]), frozen=False, pooling=pooling, overlap=4, context=30)
    encoder = Encoder.from_corpus(EncoderSettings(transformer=chosen), []).eval()
    tokenizer = encoder.transformer.tokenizer
    views = Splitter(tokenizer=tokenizer)(Document("Adas left Oslosx. Bobsy met Eves."))
    assert [len(view) for view in views] == [7, 7]  # every piece is a unit
    assert all(
        [(each.words, each.wholes) for each in view.around] == [(v.words, v.wholes) for v in views] for view in views
    )
    ids = [2, *(number for pieces in encode_pieces(views, tokenizer) for number in pieces.ids), 3]
    expected = AutoModel.from_pretrained(encoders["bert"]).eval()(input_ids=torch.tensor([ids])).last_hidden_state
    states = encoder(encoder.prepare(views).batch(torch.tensor([0, 1]))).states  # [2, 7, size]
    torch.testing.assert_close(states.flatten(0, 1), expected[0, 1:-1], atol=1e-5, rtol=1e-3)


def test_pieces_need_a_pretrained_encoder(tiny, documents, tmp_path):
    with pytest.raises(ConfigError, match=r"set encoder\.transformer\.name"):
        nearspan.train(tiny("classifier", "suggester.unit=pieces"), documents, out=tmp_path / "out", device="cpu")


def test_the_tokenizer_of_nothing_is_a_resource_error(tmp_path):
    with pytest.raises(nearspan.errors.ResourceError, match="cannot load the encoder"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize(("words", "expected"), [("ada Ada IL gene", ["Ada", "IL"]), ("ada il gene", ["ada", "il"])])
def test_a_cased_vocabulary_is_read_as_such_though_its_tokenizer_was_published_without_settings(
    tmp_path, words: str, expected: list[str]
):
    from transformers import BertConfig

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words.split()]
    (tmp_path / "vocab.txt").write_text("\n".join(names))
    BertConfig(vocab_size=len(names)).save_pretrained(tmp_path)
    assert load_tokenizer(str(tmp_path)).backend.encode("Ada IL", add_special_tokens=False).tokens == expected


def recipe(folder: Path, name: str, *settings: str) -> Recipe:
    chosen = nearspan.recipe(name).override(
        ["suggester.unit=pieces", "suggester.max_width=7", f'encoder.transformer.name="{folder}"', *TINY]
    )
    return chosen.override(["encoder.transformer.overlap=4", "encoder.transformer.dropout=0.0", *settings])


@pytest.fixture(scope="module")
def corpus() -> list[Document]:
    return [nearspan.markup(text, id=f"d{number}") for number, text in enumerate(SENTENCES)]


@pytest.fixture(scope="module")
def folders(encoders, corpus, tmp_path_factory) -> dict[str, Path]:
    """Models over pieces that know their training data by heart, trained from an encoder that is gone."""
    made = {}
    for name, kind in (("shallow", "bert"), ("dspert", "roberta")):
        made[name] = tmp_path_factory.mktemp("pieces") / name
        pretrained = shutil.copytree(encoders[kind], made[name].with_name("pretrained"))
        settings = ("training.epochs=80", "encoder.transformer.learning_rate=0.002", "encoder.transformer.context=24")
        nearspan.train(recipe(pretrained, name, *settings), corpus, corpus, out=made[name], device="cpu")
        shutil.rmtree(pretrained)
    return made


@pytest.fixture(params=["shallow", "dspert"])
def model(request, folders) -> Model:
    return nearspan.load(folders[request.param], device="cpu")


def test_a_model_over_pieces_finds_its_entities_again(model: Model, corpus):
    assert model.split(corpus[0])[0].unit == "pieces"
    evaluation = evaluate(model, corpus)
    assert evaluation.scores.f1 == 1
    assert str(evaluation.coverage) == "13 entities in 8 sentences; all reachable"
    assert evaluation.coverage.words == sum(len(each.text.split()) for each in corpus)


def test_a_saved_model_over_pieces_predicts_the_same(encoders, corpus, tmp_path):
    chosen = recipe(encoders["roberta"], "dspert", "training.epochs=2")
    trained = nearspan.train(chosen, corpus, out=tmp_path / "out", device="cpu").model
    loaded = nearspan.load(tmp_path / "out", device="cpu")
    texts = ["Adas lives in Oslosx. Bobsy \u200d met \U0001f600Adas", *(each.text for each in corpus)]
    for left, right in zip(trained.pipe(texts), loaded.pipe(texts), strict=True):
        assert left == right
        assert [entity.score for entity in left.entities] == [entity.score for entity in right.entities]


@pytest.mark.parametrize("kind", KINDS)
def test_entities_are_whole_words_though_predicted_spans_are_not(encoders, corpus, kind: str):
    torch.manual_seed(1)
    chosen = recipe(encoders[kind], "shallow")
    split = chosen.splitter()
    model = Model.from_corpus(
        chosen, [sentence for each in corpus for sentence in split(each)], ["A", "B"], overlap="any"
    )
    torch.nn.init.normal_(model.network.head.weight, std=5)  # untrained: it sees entities everywhere
    texts = ["Adas lives in Oslosx with Bobsy", "Eves left New Yorkx"]
    inside = 0
    for document in model.pipe(texts):
        [view] = model.split(document)
        [spans] = model.predictor.predict_spans(model.encode([view]))
        firsts, stops = zip(*view.runs, strict=True)  # of whole words, in pieces
        whole = [span for span in spans if span.first in firsts and span.stop in stops]
        inside += len(spans) - len(whole)
        assert len(document.entities) == len(whole) > 0
        starts, ends = zip(*nearspan.segment.split(document)[0].words, strict=True)
        assert all(entity.start in starts and entity.end in ends for entity in document.entities)
    assert inside > 0


def test_a_span_inside_a_word_does_not_stand_in_the_way(model: Model):
    spans = [[LabelledSpan.of(0, 1, 1, 0.9), LabelledSpan.of(0, 2, 1, 0.8), LabelledSpan.of(1, 3, 2, 0.7)]]
    view = Sentence(Document("Adas in"), 0, ((0, 3), (3, 4), (5, 7)), wholes=((0, 2), (2, 3)))
    [[entity]] = model.predictor.decode_windows(SentenceWindows.of(model.network, [view]), spans)
    assert (entity.start, entity.end, entity.score) == (0, 4, 0.8)


def test_a_sentence_of_3000_words_is_read_whole(model: Model, monkeypatch):
    """Every whole word of one to seven pieces is predicted in some window; each comes out once."""
    text = " ".join(["Adas", "in", "Oslosx"] * 1000)
    [view] = model.split(Document(text))
    assert len(view) > 3000
    lengths = [len(window.sentence) for window in SentenceWindows.of(model.network, [view]).windows]
    assert len(lengths) > 3

    def predict_spans(predictor, corpus):
        assert corpus.lengths.tolist() == lengths
        return [
            [LabelledSpan.of(first, stop, 1, 0.5) for first, stop in part.sentence.wholes]
            for part in split_windows(view, 7)
        ]

    list(model.pipe([text]))  # read for real, too
    monkeypatch.setattr(Predictor, "predict_spans", predict_spans)
    [document] = model.pipe([text])
    assert [(entity.start, entity.end) for entity in document.entities] == list(
        nearspan.segment.split(document)[0].words
    )


def test_wider_than_the_most_pieces_is_in_the_coverage(encoders, corpus, tmp_path):
    chosen = recipe(encoders["bert"], "shallow", "suggester.max_width=2", "training.epochs=1")
    run = nearspan.train(chosen, corpus, corpus, out=tmp_path / "out", device="cpu")
    assert run.dev.coverage.unreachable == {"wider than 2 pieces": 6}
    assert "6 wider than 2 pieces" in (tmp_path / "out" / "README.md").read_text()
    with pytest.raises(NearspanError, match="'Oslosx' has 3 pieces; this model considers spans of at most 2"):
        run.model.explain_span("Oslosx", Span.of(0, 6))


def test_explain_shows_the_texts_of_spans(model: Model, corpus):
    by_text = {evidence.text: evidence for evidence in model.explain(corpus[0].text)}
    assert {text: evidence.label for text, evidence in by_text.items()} == {"Adas": "PERSON", "Oslosx": "PLACE"}
    for evidence in by_text.values():
        shown = [near for group in evidence.neighbours.values() for near in group]
        assert shown
        assert all(near.text == near.sentence[near.span.start : near.span.end] for near in shown)
    assert by_text["Oslosx"].neighbours["PLACE"][0].text == "Oslosx"
    assert model.explain_span("The rains fell", Span.of(4, 9)).text == "rains"
    with pytest.raises(NearspanError, match="not a run of whole words"):
        model.explain_span("The rains fell", Span.of(4, 8))


def test_instances_over_pieces_add_up(encoders, tiny, corpus, tmp_path):
    settings = (f'encoder.transformer={{name="{encoders["bert"]}", overlap=4}}', "suggester.unit=pieces")
    chosen = tiny("instance", *settings, "training.batch=2", "training.epochs=1", "head.search=whole")
    model = nearspan.train(chosen, corpus, out=tmp_path / "out", device="cpu").model
    evidence = model.explain_span("Adas left", Span.of(0, 4), k=3)
    for label, group in evidence.neighbours.items():
        total = sum(near.weight for near in group) + evidence.unlisted[label]
        assert total == pytest.approx(evidence.probabilities[label], abs=1e-5)


def test_in_context_a_documents_entities_do_not_depend_on_the_other_documents(model: Model, corpus):
    texts = [". ".join(each.text for each in corpus[:3]), ". ".join(each.text for each in corpus[3:]), "Adas left."]
    together = list(model.pipe(texts))
    assert any(annotated.entities for annotated in together)
    for text, document in zip(texts, together, strict=True):
        [alone] = model.pipe([text])
        assert alone == document
        scores = [entity.score for entity in alone.entities]
        assert scores == pytest.approx([entity.score for entity in document.entities], abs=1e-4)


def test_the_report_of_a_model_over_pieces(folders, corpus):
    from nearspan.report.papers.spans import gold_spans, negative_spans, span_vectors

    model = nearspan.load(folders["shallow"], device="cpu")
    spans = list(gold_spans(model, corpus).values())
    assert len(spans) == 13
    assert {span.span.text(span.sentence.text) for span in spans} >= {"Adas", "Bobsy Stone", "New Yorkx"}
    assert span_vectors(model, spans).isfinite().all()
    assert len(negative_spans(model, corpus, 4, 20)) == 20
