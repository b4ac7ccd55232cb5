"""Recipes: typed, checked, and changed by settings that say what is wrong with them."""

from pathlib import Path

import pytest

from nearspan import config as recipes
from nearspan.errors import ConfigError
from nearspan.recipes import names


def test_the_papers_two_systems():
    assert {"classifier", "instance"} <= set(names())
    instance = recipes.load("instance")
    assert (instance.head.neighbours, instance.suggester.max_width, instance.training.batch) == (50, 6, 64)
    assert recipes.load("classifier").encoder == instance.encoder


def test_a_recipe_with_a_base_changes_what_it_names():
    instance, paper = recipes.load("instance"), recipes.load("instance-paper")
    assert (instance.encoder.highway.layers, paper.encoder.highway) == (2, None)
    assert (paper.training.batch, paper.training.epochs) == (8, instance.training.epochs)
    assert paper.head == instance.head


def test_another_kind_in_a_recipe_with_a_base_drops_the_settings_of_the_old_one(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nbase = "instance"\n[head]\nnull = "learned"\nkind = "softmax"\n')
    assert recipes.load(path).head.model_dump(exclude_none=True)["null"] == "learned"
    assert recipes.load(path).encoder == recipes.load("instance").encoder


@pytest.mark.parametrize("name", names())
def test_every_recipe_loads_and_says_what_it_is(name: str):
    recipe = recipes.load(name)
    assert recipe.name == name
    assert recipe.about


def test_a_recipe_of_ones_own(tmp_path: Path):
    import tomli_w

    path = tmp_path / "mine.toml"
    path.write_text(tomli_w.dumps(recipes.load("instance").model_dump(exclude_none=True)))
    assert recipes.load(path) == recipes.load("instance")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no recipe"),
        ("", "name: Field required"),
        ("name = ", "cannot read recipe"),
        (b"\xff", "cannot read recipe"),
        (f"name = {'9' * 5000}", "cannot read recipe"),
        (f"name = {'[' * 3000}", "cannot read recipe"),
        ('name = "x"\nbase = "instnce"', "base must be one of .*instance"),
        ('name = "x"\nbase = ["instance"]', "base must be one of"),
        ('name = "x"\nbase = "instance"\n[training]\nepoch = 3', "did you mean 'epochs'"),
        ('name = "x"\nbase = "instance"\n[training.epochs]\nmore = 3', r"training\.epochs"),
        ('name = "x"\nepochs = 3\n[encoder]\n[head]\nkind = "classifier"', "epochs: no such setting"),
    ],
)
def test_a_bad_recipe_is_a_config_error(tmp_path: Path, content, message: str):
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message):
        recipes.load(path)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'instance'"):
        recipes.load("instnce")


def test_settings_are_toml_or_words():
    recipe = recipes.load("instance").override(
        ["training.epochs=3", "head.search=whole", 'encoder.vectors.file="a b.txt"', "characters_as_words=true"]
    )
    assert recipe.training.epochs == 3
    assert recipe.head.search == "whole"
    assert recipe.encoder.vectors.file == "a b.txt"
    assert recipe.characters_as_words is True


def test_a_part_can_be_left_out_or_added():
    recipe = recipes.load("instance").override(["encoder.characters=none", "encoder.transformer.name=x"])
    assert recipe.encoder.characters is None
    assert recipe.encoder.transformer.name == "x"


def test_smoothing_is_switched_on_by_a_setting_of_it():
    recipe = recipes.load("instance")
    assert recipe.losses.boundary_smoothing is None
    recipe = recipe.override(["losses.boundary_smoothing.epsilon=0.2"])
    assert (recipe.losses.boundary_smoothing.epsilon, recipe.losses.boundary_smoothing.distance) == (0.2, 1)
    assert recipe.override(["losses.boundary_smoothing=none"]).losses.boundary_smoothing is None


def test_another_kind_begins_afresh():
    recipe = recipes.load("instance").override(["head.kind=softmax"])
    assert recipe.head.kind == "softmax"


def test_overriding_changes_a_copy():
    recipe = recipes.load("instance")
    recipe.override(["training.epochs=3"])
    assert recipe.training.epochs == 100
    assert recipe.override([]) == recipe


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.epoch=3", "did you mean 'epochs'"),
        ("trainig.epochs=3", "trainig: no such setting"),
        ("training.epochs=many", "training.epochs"),
        ("training.epochs=0", "training.epochs"),
        ("training.epochs", "part.key=value"),
        ("=3", "part.key=value"),
        ("training.epochs.more=3", "is a value"),
        ("head.kind=oracle", r"  head\.kind: there is no 'oracle'; known: .*biaffine.*crf, "),
        ("head.kind=softmx", r"  head\.kind: there is no 'softmx'; did you mean 'softmax'\?"),
        ("representation.kind=3", r"  representation\.kind: there is no '3'; known: "),
        ("encoder.features.length.kind=x", r"  encoder\.features\.length\.kind: there is no 'x'; known: "),
        ("head.neighbours=0", r"  head\.neighbours: "),
        ("head.neighbors=3", "did you mean 'neighbours'"),
        ("suggester.max_width=0", "max_width"),
        ("encoder.bilstm.size=0", "size"),
        ("encoder.bilstm.dropout=1.5", "dropout"),
        ("encoder.vectors.size=-1", "size"),
        ("encoder.characters.longest=1", r"  encoder\.characters\.longest: "),
        ("training.size=3", r"no such setting; known: batch, [a-z_, ]*weight_decay$"),
        ("suggester.max_width=" + "9" * 30, "less than or equal to"),
        ("encoder.vectors.size=9999999999999", "less than or equal to"),
        ("training.epochs=" + "9" * 5000, r"training\.epochs: .{,300}$"),
        ("training.epochs=0x" + "f" * 5000, r"training\.epochs: .{,300}$"),
        ("training.epochs=" + "[" * 3000, r"training\.epochs: .{,300}$"),
        ("training.learning_rate=inf", "finite"),
        ("training.decay=inf", "finite"),
        ("name=x\udcffy", "lone surrogate"),
        ("x\udcffy=1", "the recipe: "),
        ("representation.size=-1", "size"),
        ("training.learning_rate=0", "learning_rate"),
        ("training.learning_rate=nan", "learning_rate"),
        ("training.optimizer=lion", "optimizer"),
        ("training.weight_decay=-1", "weight_decay"),
        ("training.schedule=cosine", "schedule"),
        ("training.warmup=1", "warmup"),
        ("decoding.overlap=sideways", "overlap"),
        ("losses.boundary_smoothing.epsilon=1", "epsilon"),
        ("losses.boundary_smoothing.distance=0", "distance"),
        ("losses.boundary_smothing.epsilon=0.1", "did you mean 'boundary_smoothing'"),
        ("name=none", "name"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, message: str):
    with pytest.raises(ConfigError, match=message):
        recipes.load("instance").override([setting])


def test_only_settings_of_the_kind_at_hand_are_suggested():
    with pytest.raises(ConfigError, match=r"head\.neighbours: no such setting; known: bias, kind, null"):
        recipes.load("instance").override(["head.kind=softmax", "head.neighbours=3"])


def test_a_part_that_is_put_in_needs_its_kind():
    with pytest.raises(ConfigError, match=r"set encoder\.characters\.kind first"):
        recipes.load("dspert").override(["encoder.characters.size=30"])
    put = ["encoder.characters.kind=intnet", "encoder.characters.size=8"]
    assert recipes.load("dspert").override(put).encoder.characters.size == 8


@pytest.mark.parametrize("setting", ["encoder.characters.layers=6", "encoder.sentence_context.window=4"])
def test_some_numbers_are_odd(setting: str):
    with pytest.raises(ConfigError, match="must be odd"):
        recipes.load("hire").override([setting])


@pytest.mark.parametrize("name", ["../recipes/instance", "", ".", "x" * 300])
def test_odd_names_are_config_errors(name: str):
    with pytest.raises(ConfigError):
        recipes.load(name)
