"""Errors name options on the command line, and arguments in Python."""

import ast
from pathlib import Path

import pytest

import nearspan
from nearspan.cli.terminal import name_options
from nearspan.errors import ConfigError, NearspanError

SOURCE = Path(nearspan.__file__).parent


def test_arguments_in_backticks_become_options():
    options = {"max_width": "--max-width", "settings": "--set"}
    with pytest.raises(ConfigError, match=r"^--max-width and --set, but `kind` stays$"), name_options(options):
        raise ConfigError("`max_width` and `settings`, but `kind` stays")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["annotate", "{model}", "{data}", "--search", "fast"], "--search is 'fast'"),
        (["evaluate", "{model}", "{data}", "--device", "toaster"], "--device toaster:"),
        (["train", "instance", "--train", "{data}", "--out", "{model}"], "Give another --out, or --resume"),
        (["train", "instance", "--train", "{data}", "--out", "{tmp}/m", "--set", "x"], "--set takes part.key=value"),
        (["check", "{tmp}/odd"], "name it with --format"),
        (["convert", "{tmp}/odd", "{tmp}/out.jsonl"], "name it with --from"),
        (["convert", "{data}", "{tmp}/out.odd"], "name it with --to"),
        (["tune", "instance", "--train", "{data}", "--dev", "{data}", "--out", "{tmp}/t", "--search", "head.kind=1"],
         "head.kind takes"),
        (["vectors", "{data}", "--out", "{tmp}/v.txt", "--least", "99"], "lower --least"),
    ],
)  # fmt: skip
def test_the_command_line_names_options(nearspan_command, folders, documents, tmp_path, arguments, message):
    nearspan.write(documents, tmp_path / "data.jsonl")
    (tmp_path / "odd").write_text("nothing known")
    places = {"tmp": tmp_path, "data": tmp_path / "data.jsonl", "model": folders["instance"]}
    ran = nearspan_command(*(argument.format(**places) for argument in arguments))
    assert ran.code == 2
    assert message in ran.err


def test_python_names_arguments(instance, documents, folders):
    with pytest.raises(NearspanError, match=r"^`search` is 'fast'"):
        instance.set_search("fast")
    with pytest.raises(NearspanError, match="`device` toaster"):
        nearspan.load(folders["instance"], device="toaster")
    with pytest.raises(NearspanError, match="Give another `out`, or `resume`"):
        nearspan.train("instance", documents, out=folders["instance"])


@pytest.mark.parametrize("path", [path for path in SOURCE.rglob("*.py") if "cli" not in path.parts], ids=str)
def test_no_error_outside_the_command_line_names_an_option(path: Path):
    raised = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Raise)]
    texts = [part.value for node in raised for part in ast.walk(node) if isinstance(part, ast.Constant)]
    assert [text for text in texts if isinstance(text, str) and (" --" in text or text.startswith("--"))] == []
