"""`nearspan recipes`."""

import tomllib
from pathlib import Path

from nearspan.config import load
from nearspan.recipes import FOLDER, names


def test_all_are_listed_with_what_they_are_reached_and_need(nearspan_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    ran = nearspan_command("recipes")
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if line.strip()]
    rows = list(zip(lines[::2], lines[1::2], strict=True))
    about = {row[0].split()[0]: row[0] for row in rows}
    details = {row[0].split()[0]: row[1].strip() for row in rows}
    assert all(load(name).about in about[name] for name in names())
    assert details["dspert"].endswith("encoder roberta-base")
    assert details["instance-genia"] == "GENIA 74.38 ± 0.38, paper 74.20 ± 0.16; 13 min; word vectors (optional)"
    assert details["sng"] == "word vectors (optional)"
    assert details["sng-given"] == "GENIA accuracy 91.86 ± 0.34, paper 91.76; word vectors (optional)"
    assert details["joint-ib"].endswith("encoder allenai/scibert_scivocab_uncased; synonyms (optional)")


def test_they_can_be_read_in_a_narrow_terminal(nearspan_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = nearspan_command("recipes").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("instance-genia") and "The instance-based system for GENIA" in line for line in lines)


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
