"""Entities in the shape of transformers' pipelines, compared with what transformers itself gives."""

from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast, pipeline

from nearspan.document import Document, Entity, Span
from nearspan.integrations.huggingface import to_pipeline

TEXT = "ada left oslo"


def transformers_records(tmp_path) -> list[dict]:
    """What a pipeline of transformers finds with weights that were never trained: a group for every word."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split()]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizerFast(str(tmp_path / "vocab.txt"))
    labels = {0: "B-PERSON", 1: "B-PLACE"}
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertForTokenClassification(BertConfig(vocab_size=len(words), id2label=labels, **size))
    return pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="simple")(TEXT)


def test_the_records_have_the_keys_and_kinds_of_transformers(tmp_path):
    theirs = transformers_records(tmp_path)[0]
    [ours] = to_pipeline(Document(TEXT, (Entity.of(9, 13, "PLACE", 0.75),)))
    assert ours == {"entity_group": "PLACE", "score": 0.75, "word": "oslo", "start": 9, "end": 13}
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert isinstance(ours[key], float if key == "score" else type(value))
    assert TEXT[theirs["start"] : theirs["end"]] == theirs["word"]


def test_nested_entities_stand_one_after_the_other():
    entities = (Entity.of(0, 13, "EVENT", 0.5), Entity.of(0, 3, "PERSON", 0.9))
    records = to_pipeline(Document(TEXT).with_entities(entities))
    assert [record["word"] for record in records] == ["ada", "ada left oslo"]


def test_a_discontinuous_entity_has_its_fragments():
    entity = Entity(Span(((0, 3), (9, 13))), "PAIR", 0.5)
    [record] = to_pipeline(Document(TEXT, (entity,)))
    assert (record["word"], record["start"], record["end"]) == ("ada oslo", 0, 13)
    assert record["fragments"] == [[0, 3], [9, 13]]
