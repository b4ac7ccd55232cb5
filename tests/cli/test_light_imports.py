"""What needs no model loads no torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from nearspan.cli import COMMANDS
from nearspan.formats.sample import path

RUN = """
import sys
from nearspan.__main__ import main
try:
    main()
finally:
    print(sorted({"torch", "transformers", "numpy", "rich"} & set(sys.modules)), file=sys.stderr)
"""


def loaded_packages(*arguments: str | Path) -> str:
    """The large packages that a command has loaded when it ends."""
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_large(option: str):
    assert loaded_packages(option) == "[]"


@pytest.mark.parametrize("arguments", [["recipes"], ["recipes", "instance"]])
def test_recipes_are_read_with_what_prints_them_alone(arguments: list[str]):
    assert loaded_packages(*arguments) == "['rich']"


def test_corpora_are_read_and_written_without_torch(tmp_path: Path):
    for arguments in (["check", path("dev")], ["convert", path("dev"), tmp_path / "dev.jsonl"]):
        packages = loaded_packages(*arguments)
        assert "torch" not in packages
        assert "transformers" not in packages


def test_the_options_of_all_commands_are_known_without_torch():
    """What the help of a command and its completion in a shell need."""
    code = "import sys, typer, nearspan.cli\ngroup = typer.main.get_command(nearspan.cli.app)\n"
    code += "print(*(len(group.get_command(None, name).params) for name in group.list_commands(None)))\n"
    code += "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert len(done.stdout.split()) == len(COMMANDS)
