"""The command line as a whole: help with examples, one clean line for an error, real processes."""

import signal
import subprocess
from errno import EACCES
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

import nearspan
from nearspan.cli import COMMANDS, app

GROUP = typer.main.get_command(app)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str):
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0
    assert f"Example: {'echo' if command == 'annotate' else 'nearspan ' + command}" in result.output


@pytest.mark.parametrize("command", GROUP.get_command(None, "memory").commands)
def test_help_of_the_memorys_commands_shows_an_example(command: str):
    result = CliRunner().invoke(app, ["memory", "runs/mine", command, "--help"], env={"COLUMNS": "200"})
    assert f"Example: nearspan memory runs/mine {command}" in result.output


def test_help_lists_every_command_with_the_line_that_its_own_help_begins_with():
    output = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for name, line in COMMANDS.items():
        assert f"{name} " in output
        assert line in output
        assert GROUP.get_command(None, name).help.splitlines()[0] == line


def test_every_file_of_a_command_is_listed():
    shared = {"__init__", "dialogue", "options", "ray", "terminal"}
    assert {path.stem for path in Path(nearspan.cli.__file__).parent.glob("*.py")} == shared | set(COMMANDS)


def test_a_mistyped_command_gets_the_nearest_name(nearspan_command):
    assert "There is no command 'trian'; did you mean 'train'?" in nearspan_command("trian").err


def test_the_version(nearspan_command):
    ran = nearspan_command("--version")
    assert (ran.code, ran.out.strip()) == (0, nearspan.__version__)


@pytest.mark.parametrize("arguments", [["fly"], ["train"], ["train", "instance"], ["evaluate"], ["explain", "x"]])
def test_wrong_usage_is_exit_code_2(nearspan_command, arguments: list[str]):
    ran = nearspan_command(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Usage" in ran.err


ERRORS = {
    "no model": ["evaluate", "{tmp}/absent", "{data}"],
    "no corpus": ["evaluate", "{model}", "{tmp}/absent.jsonl"],
    "empty corpus": ["evaluate", "{model}", "{tmp}/empty.jsonl"],
    "no text file": ["annotate", "{model}", "{tmp}/absent.txt"],
    "odd format": ["annotate", "{model}", "{data}", "--format", "xml"],
    "odd target": ["annotate", "{model}", "{data}", "--to", "xml"],
    "no --out": ["annotate", "{model}", "{data}", "--to", "conll"],
    "odd search": ["annotate", "{model}", "{data}", "--search", "fast"],
    "odd device": ["annotate", "{model}", "{data}", "--device", "toaster"],
    "not UTF-8": ["annotate", "{model}", "{tmp}/latin.txt"],
    "a folder": ["annotate", "{model}", "{tmp}/folder.txt"],
    "no recipe": ["train", "instnce", "--train", "{data}", "--out", "{tmp}/out"],
    "odd setting": ["train", "instance", "--train", "{data}", "--out", "{tmp}/out", "--set", "training.epoch=3"],
    "no training file": ["train", "instance", "--train", "{tmp}/absent", "--out", "{tmp}/out"],
    "no vectors": ["train", "instance", "--train", "{data}", "--out", "{tmp}/o", "--set", "encoder.vectors.file=no"],
    "no encoder": ["train", "instance", "--train", "{data}", "--out", "{tmp}/o", "--set",
                   "encoder.transformer.name={tmp}/folder.txt"],
    "taken folder": ["train", "instance", "--train", "{data}", "--out", "{model}"],
    "nothing to resume": ["train", "instance", "--train", "{data}", "--out", "{tmp}/out", "--resume"],
    "span not there": ["explain", "{model}", "Ada left", "--span", "Oslo"],
    "span in a word": ["explain", "{model}", "Ada left", "--span", "Ad"],
    "no such recipe": ["recipes", "instnce"],
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_one_line_and_exit_code_2(nearspan_command, folders, documents, tmp_path: Path, case: str):
    data = tmp_path / "data.jsonl"
    nearspan.write(documents, data)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "latin.txt").write_bytes("Os\xf8lo".encode("latin-1"))
    (tmp_path / "folder.txt").mkdir()
    known = {"tmp": tmp_path, "data": data, "model": folders["instance"]}
    ran = nearspan_command(*(part.format(**known) for part in ERRORS[case]))
    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    message = ran.err[ran.err.index("error: ") :]
    lines = message.strip().splitlines()
    assert len(lines) == 1 or all(line.startswith("  ") for line in lines[1:])
    assert len(lines[0]) > 20


def test_brackets_and_emoji_names_in_messages_are_shown_as_they_are(nearspan_command):
    ran = nearspan_command("evaluate", "/no/[bold]x[/bold]:smile:\\[y]", "x.jsonl")
    ran_model = nearspan_command("annotate", "/no/[bold]x[/bold]:smile:\\[y]")
    assert ran.code == ran_model.code == 2
    assert "/no/[bold]x[/bold]:smile:\\[y]" in ran_model.err


def test_a_real_process_says_one_line(start, finish, tmp_path: Path):
    code, out, err = finish(start("annotate", tmp_path / "absent"), b"Ada\n")
    assert (code, out) == (2, "")
    assert err.startswith("error: no model folder at ")
    assert len(err.splitlines()) == 1


def test_a_pipe_that_closes_early_is_no_failure(start, folders, tmp_path: Path):
    (tmp_path / "lines").write_bytes(b"Ada lives in Oslo\n" * 30_000)
    with (tmp_path / "lines").open("rb") as lines:
        process = start("annotate", folders["classifier"], stdin=lines)
    assert process.stdout.readline().startswith(b"{")
    process.stdout.close()
    err = process.stderr.read().decode()
    process.wait(timeout=120)
    process.stderr.close()
    assert err == ""
    assert process.returncode == 0


def test_json_lines_are_utf8_whatever_the_terminal_speaks(start, finish, folders):
    process = start("annotate", folders["instance"], environment={"PYTHONIOENCODING": "ascii"})
    code, out, err = finish(process, "Ada lives in Tromsø 北京\n".encode())
    assert (code, err) == (0, "")
    assert "Tromsø 北京" in out


def test_killed_from_outside_and_resumed_a_run_ends_alike(start, documents, tiny, tmp_path: Path, nearspan_command):
    import tomli_w

    nearspan.write(documents, tmp_path / "train.jsonl")
    settings = ("training.epochs=25", "training.batch=1", "training.checkpoint_minutes=0")
    (tmp_path / "tiny.toml").write_text(tomli_w.dumps(tiny("instance", *settings).model_dump(exclude_none=True)))
    common = ["train", tmp_path / "tiny.toml", "--train", tmp_path / "train.jsonl", "--device", "cpu", "--out"]
    process = start(*common, tmp_path / "cut", stderr=subprocess.DEVNULL)
    while not (tmp_path / "cut" / "checkpoint.safetensors").exists() and process.poll() is None:
        try:
            process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            continue
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert nearspan_command(*common, tmp_path / "whole").code == 0
    assert nearspan_command(*common, tmp_path / "cut", "--resume").code == 0
    for file in ("model.safetensors", "memory.safetensors"):
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_an_interrupted_run_says_how_to_go_on(nearspan_command, documents, tmp_path: Path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    nearspan.write(documents, tmp_path / "train.jsonl")
    monkeypatch.setattr("nearspan.training.train", interrupt)
    ran = nearspan_command("train", "instance", "--train", tmp_path / "train.jsonl", "--out", tmp_path / "m")
    assert ran.code == 130
    assert "--resume" in ran.err


def test_a_full_gpu_is_told_without_a_traceback(monkeypatch, capsys):
    def full(**_) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 8 GiB")

    monkeypatch.setattr(nearspan.cli, "app", full)
    with pytest.raises(SystemExit) as stopped:
        nearspan.cli.main()
    assert stopped.value.code == 2
    assert "training.batch" in capsys.readouterr().err


def test_commands_make_their_consoles_in_one_place():
    files = Path(nearspan.cli.__file__).parent.glob("*.py")
    assert [file.name for file in files if "Console(" in file.read_text(encoding="utf-8")] == ["terminal.py"]


FULL_DISK = Path("/dev/full")


@pytest.mark.skipif(not FULL_DISK.exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["check", "convert", "annotate"])
def test_a_full_standard_output_is_told_in_one_line(start, folders, documents, tmp_path: Path, command: str):
    data = tmp_path / "data.jsonl"
    nearspan.write(documents, data)
    arguments = {"check": [data], "convert": [data, tmp_path / "out.jsonl"], "annotate": [folders["classifier"], data]}
    with FULL_DISK.open("wb") as full:
        process = start(command, *arguments[command], stdout=full)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.decode() == "error: standard output cannot be written: No space left on device\n"


def test_an_error_of_the_system_names_its_file(monkeypatch, capsys):
    def refuse(**_) -> None:
        raise PermissionError(EACCES, "Permission denied", "secret.txt")

    monkeypatch.setattr(nearspan.cli, "app", refuse)
    with pytest.raises(SystemExit) as stopped:
        nearspan.cli.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "error: secret.txt: Permission denied\n"


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")]
)
def test_a_full_memory_is_told_without_a_traceback(monkeypatch, capsys, error: Exception):
    def full(**_) -> None:
        raise error

    monkeypatch.setattr(nearspan.cli, "app", full)
    with pytest.raises(SystemExit) as stopped:
        nearspan.cli.main()
    assert stopped.value.code == 2
    assert "the computer's memory is full" in capsys.readouterr().err


def test_a_model_too_large_for_the_memory_is_not_called_damaged(folders, monkeypatch, nearspan_command):
    monkeypatch.setattr("nearspan.model.folder.build_network", lambda *_: torch.empty(2**60, dtype=torch.uint8))
    ran = nearspan_command("explain", folders["instance"], "Ada")
    assert ran.code == 2
    assert "the computer's memory is full" in ran.err
