"""`nearspan recipes`."""

import tomllib
from pathlib import Path

from nearspan.config import load
from nearspan.recipes import FOLDER, names


def test_all_are_listed_with_what_they_are_and_need(nearspan_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    ran = nearspan_command("recipes")
    assert ran.code == 0
    rows = {line.split()[0]: line for line in ran.out.splitlines()}
    assert all(load(name).about in rows[name] for name in names())
    assert "roberta-base" in rows["dspert"]
    assert "word vectors (optional)" in rows["instance"]
    assert "word vectors (optional)" in rows["instance-genia"]  # as its base
    assert "74.20 ± 0.16  74.38 ± 0.38    13 min" in rows["instance-genia"]
    assert "scibert" in rows["joint-ib"]
    assert "synonyms (optional)" in rows["joint-ib"]


def test_one_is_printed_as_its_file_is_and_can_be_used(nearspan_command, tmp_path: Path):
    ran = nearspan_command("recipes", "instance")
    assert ran.out == (FOLDER / "instance.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(ran.out)
    assert load(tmp_path / "mine.toml") == load("instance")
    assert nearspan_command("recipes", tmp_path / "mine.toml").out == ran.out


def test_one_with_all_its_settings_is_the_same_recipe(nearspan_command, tmp_path: Path):
    ran = nearspan_command("recipes", "instance", "--all")
    assert tomllib.loads(ran.out)["head"]["neighbours"] == 50
    assert tomllib.loads(ran.out)["training"]["patience"] == 0  # a default
    (tmp_path / "mine.toml").write_text(ran.out)
    assert load(tmp_path / "mine.toml") == load("instance")


def test_all_settings_are_those_of_one_recipe(nearspan_command):
    ran = nearspan_command("recipes", "--all")
    assert ran.code == 2
    assert "name it" in ran.err


def test_a_file_that_is_not_text_is_a_clear_error(nearspan_command, tmp_path: Path):
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    assert "cannot read recipe" in nearspan_command("recipes", tmp_path / "odd.toml").err
