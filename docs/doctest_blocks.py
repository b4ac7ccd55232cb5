"""Shows the doctests of docstrings as code: mkdocstrings would take `>>>` for a quotation in Markdown."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # up to a blank line, as doctest reads it


class DoctestBlocks(griffe.Extension):
    """Puts a fence around each doctest."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object with its docstring."""
        if obj.docstring:
            obj.docstring.value = DOCTEST.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
