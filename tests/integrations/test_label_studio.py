import pytest

from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError
from nearspan.integrations.label_studio import LabellingConfig, RegionReader, TextTag, write_regions

TAG = TextTag("text", ("text",), {"PERSON": "label", "PLACE": "label", "SYMPTOM": "label"})
TWO_TEXTS = """
<View>
  <Labels name="who" toName="title,body"><Label value="Person" alias="PERSON"/></Labels>
  <Labels name="where" toName="body"><Label value="PLACE"/></Labels>
  <Text name="title" value="$title"/>
  <Text name="body" value="$page.body"/>
  <Choices name="mood" toName="body"><Choice value="good"/></Choices>
</View>
"""
LINK = '<View><Labels name="l" toName="t"><Label value="A"/></Labels><Text name="t" value="$t" valueType="url"/></View>'
PAIN = Entity(Span(((0, 4), (8, 12))), "SYMPTOM", score=0.5)


def region(start: int, end: int, text: str, *labels: str, id: str = "a") -> dict:
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    return {"id": id, "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def read(text: str, *result: dict) -> tuple[Document, list[str]]:
    reader = RegionReader({"PERSON", "PLACE", "SYMPTOM"}.__contains__)
    return reader.read(TAG, text, result), reader.problems


def test_a_configuration_may_have_several_texts_and_tags():
    title, body = LabellingConfig.parse(TWO_TEXTS).texts
    assert title.controls == {"PERSON": "who"}  # the alias is what regions say
    assert body.controls == {"PERSON": "who", "PLACE": "where"}
    assert body.read({"data": {"page": {"body": "Ada"}}}) == "Ada"
    assert title.read({"data": {"page": "Ada"}}) is None


@pytest.mark.parametrize(
    ("xml", "word"),
    [
        ("<View>", "no well-formed XML"),
        ("<!--" * 20_000, "no well-formed XML"),
        ("<View/>", "no <Labels>"),
        ('<View><Text name="t" value="$t"/></View>', "no <Labels>"),
        (LINK, "no <Labels>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><View/>', "document type"),
        ('<?a <!-- ?><!DOCTYPE x [<!ENTITY a "b">]><?b --> ?><View/>', "document type"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(xml, word):
    with pytest.raises(ConfigError, match=word):
        LabellingConfig.parse(xml)


def test_labels_are_compared_on_both_sides():
    missing, unknown = LabellingConfig.parse(TWO_TEXTS).compare_labels(["PLACE", "DATE"], lambda label: False)
    assert "no label DATE" in missing
    assert "no label PERSON and can have no new ones" in unknown


def test_labels_that_the_model_can_have_are_said_to_come():
    [message] = LabellingConfig.parse(TWO_TEXTS).compare_labels(["PLACE"], lambda label: True)
    assert message.startswith("the model has no label PERSON yet")


def test_a_configuration_offers_the_labels_it_lists():
    config = LabellingConfig.parse(TWO_TEXTS)
    assert [config.offers(label) for label in ("PERSON", "PLACE", "Person")] == [True, True, False]


def test_labels_that_tasks_bring_are_not_compared():
    config = LabellingConfig.parse('<View><Labels name="l" toName="t" value="$l"/><Text name="t" value="$t"/></View>')
    assert config.compare_labels(["PLACE"], lambda label: True) == []
    assert config.offers("DATE")
    document = Document("Oslo", (Entity.of(0, 4, "PLACE"),))
    assert write_regions(config.texts[0], document, [""], False)[0]["from_name"] == "l"


def test_nested_entities_become_regions_with_their_evidence():
    document = Document("New York", (Entity.of(0, 8, "PLACE", 0.9), Entity.of(4, 8, "PERSON", 0.3)))
    outer, inner = write_regions(TAG, document, ["as in training", ""], False)
    assert outer["meta"] == {"text": ["as in training"]}
    assert "meta" not in inner
    assert (inner["score"], inner["value"]["text"]) == (0.3, "York")
    assert outer["id"] != inner["id"]


def test_entities_whose_label_the_project_lacks_are_not_shown():
    assert write_regions(TAG, Document("1999", (Entity.of(0, 4, "DATE"),)), [""], False) == []


def test_a_discontinuous_entity_is_regions_and_relations_and_comes_back_as_it_was():
    document = Document("pain in arms", (PAIN,))
    result = write_regions(TAG, document, [""], joins_fragments=True)
    assert [part["type"] for part in result] == ["labels", "labels", "relation"]
    assert read(document.text, *result)[0].entities == (PAIN,)
    assert write_regions(TAG, document, [""], joins_fragments=False) == []


def test_other_relations_join_nothing():
    relation = {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right", "labels": ["lives in"]}
    document, _ = read("Ada in Oslo", region(0, 3, "Ada", "PERSON"), region(7, 11, "Oslo", "PLACE", id="b"), relation)
    assert len(document.entities) == 2


@pytest.mark.parametrize("offsets", [(2, 5), (3, 6)])  # code points, UTF-16 units
def test_offsets_after_an_emoji_are_understood_either_way(offsets):
    document, problems = read("😀 Ada", region(*offsets, "Ada", "PERSON"))
    assert (document.entities, problems) == ((Entity.of(2, 5, "PERSON"),), [])


def test_predictions_after_an_emoji_count_code_points():
    document = Document("😀 Ada", (Entity.of(2, 5, "PERSON"),))
    assert write_regions(TAG, document, [""], False)[0]["value"]["start"] == 2


@pytest.mark.parametrize("place", [(0, 3), (5, 5), (-1, 2), (4, 99), ("2", 5)])
def test_a_region_that_is_not_where_it_says_is_no_entity_but_a_problem(place):
    document, [problem] = read("A 😀 Ada", region(*place, "Ada", "PERSON"))
    assert not document.entities
    assert "not at its offsets" in problem


def test_blanks_around_a_region_are_no_part_of_its_entity():
    assert read("Ada left", region(0, 4, "Ada ", "PERSON"))[0].entities == (Entity.of(0, 3, "PERSON"),)


def test_tags_that_share_a_region_or_its_id_lose_nothing():
    choice = {"to_name": "text", "type": "choices", "value": {"choices": ["good"]}}
    two, date, nested = (
        region(0, 3, "Ada", "PERSON"),
        region(7, 11, "1999", "DATE"),
        region(0, 11, "Ada in 1999", "PLACE"),
    )
    document, problems = read("Ada in 1999", two, region(0, 3, "Ada", "PLACE"), date, choice, nested)
    assert [(entity.text, entity.label) for entity in document.entities] == [
        ("Ada", "PERSON"),
        ("Ada", "PLACE"),
        ("Ada in 1999", "PLACE"),
    ]
    assert problems == ["'1999' has a label that the project or the model cannot have: DATE"]


@pytest.mark.parametrize("labels", [None, 5, "PERSON"])
def test_labels_that_are_no_list_are_listed(labels: object):
    broken = region(0, 3, "Ada")
    broken["value"]["labels"] = labels
    document, problems = read("Ada wrote", broken, {"from_id": "a", "to_id": "a", "labels": 5})
    assert document.entities == ()
    assert problems == ["the labels of a region are no list: {'start': 0, 'end': 3, 'text': 'Ada'}"]
