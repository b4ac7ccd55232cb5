"""The frame of every page that nearspan writes: one HTML file that loads nothing."""

from __future__ import annotations

from pathlib import Path

STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # a browser refuses to load anything, whatever a text says


def frame(kind: str, title: str, header: str, main: str, *, subject: str = "", more: str = "") -> str:
    """A page of a kind; `subject` follows the kind in the browser's title, `more` the last line. All of it is HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>nearspan {kind}{subject and f": {subject}"}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<p class="brand">nearspan {kind}</p>
<h1>{title}</h1>
{header}
</header>
<main>
{main}
</main>
<footer>Made by nearspan.{more}</footer>
</body>
</html>
"""
