"""`nearspan recipes`."""

import tomllib
from pathlib import Path

from nearspan import config as recipes


def test_all_are_listed(nearspan_command):
    ran = nearspan_command("recipes")
    assert ran.code == 0
    assert all(name in ran.out for name in recipes.names())


def test_one_is_shown_whole_and_can_be_used(nearspan_command, tmp_path: Path):
    ran = nearspan_command("recipes", "instance")
    assert tomllib.loads(ran.out)["head"]["neighbours"] == 50
    (tmp_path / "mine.toml").write_text(ran.out)
    assert recipes.load(tmp_path / "mine.toml") == recipes.load("instance")
