import io
import logging

import pytest
from rich.console import Console

from nearspan import progress as module
from nearspan.progress import progress, show_bars_on, track


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock that goes on by two seconds whenever it is looked at."""
    seconds = iter(range(0, 10_000, 2))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(seconds)))


def test_lines_are_logged_every_some_seconds(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "nearspan.progress"):
        assert list(track(range(1_000, 1_006), "reading", 6)) == list(range(1_000, 1_006))
    assert [record.getMessage() for record in caplog.records] == ["reading: 3 of 6", "reading: 6 of 6"]


def test_stages_are_counted_apart(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "nearspan.progress"), progress() as advance:
        advance("reading", 1_000, 2_000)
        advance("reading", 1_000, 2_000)
        advance("asking", 5, 10)
    assert [record.getMessage() for record in caplog.records] == ["asking: 5 of 10"]


def test_a_terminal_shows_a_bar_instead(caplog: pytest.LogCaptureFixture):
    screen = io.StringIO()
    show_bars_on(Console(file=screen, force_terminal=True))
    try:
        with caplog.at_level(logging.INFO, "nearspan.progress"):
            assert list(track("abcdef", "reading", 6)) == list("abcdef")
    finally:
        show_bars_on(None)
    assert "reading" in screen.getvalue()
    assert not caplog.records


def test_what_is_done_in_a_moment_shows_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(module.time, "monotonic", lambda: 0.0)
    with caplog.at_level(logging.INFO, "nearspan.progress"):
        list(track("abcdef", "reading", 6))
    assert not caplog.records
