"""Completion in a shell."""

import pytest


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nearspan ev", ["evaluate"]),
        ("nearspan train dspert-r", ["dspert-reported"]),
        ("nearspan train instance --che", []),
        ("nearspan train instance --sy", ["--synonyms"]),
        ("nearspan memory runs/mine re", ["relabel", "remove", "repair"]),
    ],
)
def test_bash_gets_commands_options_and_recipes(start, finish, words: str, expected: list[str]):
    position = str(len(words.split()) - 1)
    settings = {"_NEARSPAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}
    code, out, err = finish(start(environment=settings))
    assert (code, out.split(), err) == (0, expected, "")


def test_the_script_for_a_shell_can_be_printed(start, finish):
    code, out, _ = finish(
        start("--show-completion", "bash", environment={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    )
    assert code == 0
    assert "_NEARSPAN_COMPLETE" in out
