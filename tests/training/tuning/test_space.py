"""The space of a tuning: how it is written, and what is refused before anything is trained."""

from pathlib import Path

import pytest

import nearspan
from nearspan.errors import ConfigError
from nearspan.training.tuning.space import Choice, Range, Space, Variable


def space_for(recipe: str, *searches: str) -> Space:
    return Space.parse(searches).for_recipe(nearspan.recipe(recipe))


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("training.epochs=10..50", Range("training.epochs", 10, 50, whole=True)),
        ("training.epochs = 50..300:50 ", Range("training.epochs", 50, 300, 50, whole=True)),
        ("training.epochs=1e1..1e2:log", Range("training.epochs", 10, 100, log=True, whole=True)),
        ("training.clip=1..5", Range("training.clip", 1.0, 5.0)),
        ("training.clip=1..5:2", Range("training.clip", 1.0, 5.0, 2.0)),
        ("training.learning_rate=1e-5..1e-3:log", Range("training.learning_rate", 1e-5, 1e-3, log=True)),
        ("encoder.bilstm.dropout=0...5:.1", Range("encoder.bilstm.dropout", 0.0, 0.5, 0.1)),
        ("training.schedule=inverse|linear", Choice("training.schedule", ("inverse", "linear"))),
        ("training.batch=8 | 16|32", Choice("training.batch", ("8", "16", "32"))),
    ],
)
def test_ranges_and_choices_take_the_type_of_their_setting(search: str, expected: Variable):
    (variable,) = space_for("instance", search).variables
    assert variable == expected
    if isinstance(expected, Range):
        assert type(variable.low) is type(expected.low)
        assert type(variable.step) is type(expected.step)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ("training.epoch=1..5", r"training\.epoch: no such setting; did you mean 'epochs'\?"),
        ("training.epochs=0..5", "greater than or equal to 1, found 0"),
        ("training.warmup=0.5..1", "less than 1, found 1"),
        ("training.epochs=1.5..3", "valid integer"),
        ("training.epochs=1..3:0.5", "takes whole numbers"),
        ("training.epochs=1..1", "not below the high end"),
        ("training.epochs=5..1", "not below the high end"),
        ("training.epochs=1..10:4", "do not meet 10; they reach 9"),
        ("training.epochs=1..3:10", "only one value"),
        ("training.epochs=1..3:-1", "a step is above 0"),
        ("training.decay=0..1:log", "log scale begins above 0"),
        ("training.decay=0..1:log:2", "log or a step, not both"),
        ("training.decay=0..one", "'one' is not a number"),
        ("training.decay=0..inf", "'inf' is not a number"),
        ("training.decay=..1", "'' is not a number"),
        ("training.decay=1", "a single value is a setting"),
        ("training.decay", "takes part.key=VALUES"),
        ("=1|2", "takes part.key=VALUES"),
        ("training.batch=8|", "none of them empty"),
        ("training.batch=8|8", "names a choice twice"),
        ("training.schedule=inverse|linaer", "found 'linaer'"),
        ("training.schedule=1..3", "found 1"),
        ("encoder.vectors.trainable=0..1", r"write encoder\.vectors\.trainable=true\|false"),
        ("training.epochs.more=1..3", "epochs is a value"),
        ("encoder=1..3", "encoder"),
    ],
)
def test_what_cannot_be_tried_is_refused(search: str, message: str):
    with pytest.raises(ConfigError, match=message):
        space_for("instance", search)


def test_a_setting_given_twice_is_refused():
    with pytest.raises(ConfigError, match=r"twice for training\.batch"):
        space_for("instance", "training.batch=1..3", "training.batch=4..5")


def test_nothing_to_tune_is_refused():
    with pytest.raises(ConfigError, match="nothing to tune"):
        space_for("instance")


def test_kinds_come_first_and_every_setting_has_to_suit_each_of_them():
    space = space_for("instance", "suggester.max_width=3..6", "representation.kind=lstm_minus|endpoint_mlp")
    assert [variable.key for variable in space.variables] == ["representation.kind", "suggester.max_width"]
    with pytest.raises(ConfigError, match=r"cannot be tried \(beside representation\.kind=endpoint_mlp\)"):
        space_for("instance", "representation.form=flat|nested", "representation.kind=lstm_minus|endpoint_mlp")


@pytest.mark.parametrize(
    "text",
    [
        'training.learning_rate = "1e-4..1e-2:log"\ntraining.batch = [8, 16]\n'
        "encoder.vectors.trainable = [true, false]",
        '[training]\nbatch = "8|16"\nlearning_rate = "1e-4..1e-2:log"\n[encoder.vectors]\ntrainable = "true|false"',
        '"training.batch" = [8, 16]\n"training.learning_rate" = "1e-4..1e-2:log"\n'
        'encoder.vectors.trainable = "true|false"',
    ],
    ids=["dotted", "tables", "quoted"],
)
def test_a_file_says_the_same_as_the_command_line(tmp_path: Path, text: str):
    (tmp_path / "space.toml").write_text(text)
    line = ["training.batch=8|16", "training.learning_rate=1e-4..1e-2:log", "encoder.vectors.trainable=true|false"]
    assert Space.of(tmp_path / "space.toml") == Space.parse(line)


def test_words_of_a_file_that_look_like_numbers_stay_words():
    space = Space.of({"encoder.vectors.file": ["none", "7", "vectors.txt"]})
    assert space.variables[0].values == ("none", '"7"', "vectors.txt")
    assert nearspan.recipe("instance").override(space.variables[0].settings()[1:2]).encoder.vectors.file == "7"


def test_the_command_line_goes_before_the_file():
    both = Space.of({"training.batch": [1, 2], "training.clip": "1..2"}) | Space.parse(["training.batch=3..4"])
    assert str(both) == "training.batch=3..4\ntraining.clip=1..2"


@pytest.mark.parametrize("text", ["training.batch = ", "training.batch = 8", "training.batch = [[1], [2]]", "a = [1]"])
def test_a_wrong_file_is_a_clear_error(tmp_path: Path, text: str):
    (tmp_path / "space.toml").write_text(text)
    with pytest.raises(ConfigError):
        Space.of(tmp_path / "space.toml")
    with pytest.raises(ConfigError, match="cannot read the space"):
        Space.of(tmp_path / "absent.toml")


@pytest.mark.parametrize("name", ["instance", "classifier", "dspert", "shallow", "biaffine"])
def test_every_recipe_can_be_searched(name: str):
    assert space_for(name, "training.learning_rate=1e-4..1e-2:log", "suggester.max_width=4..12:2").variables
