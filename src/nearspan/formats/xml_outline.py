"""XML is looked through before a library parses it: declarations of entities are refused, and annotations counted.

Expat reads the bytes once, keeps nothing, and opens no other file. A document type that only names its DTD, as files of
BioC do, is taken out, so that no parser goes and looks for it.
"""

import re
from collections.abc import Callable
from xml.parsers import expat

from nearspan.errors import CorpusError
from nearspan.formats.source import Source

_DOCTYPE = re.compile(rb"""<!DOCTYPE(?:[^>\["']|"[^"]*"|'[^']*')*>""")
_QUOTED = r"""(?:[^>\["']|"[^"]*"|'[^']*')"""
_SUBSET = r"""\[(?:[^\]"']|"[^"]*"|'[^']*')*+\]"""
_ROOT = (
    re.compile(  # possessive: what is tried once is never tried in another way, as a file of `<??><??>...` would want
        rf"\s*+(?>(?><\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:{_QUOTED}|{_SUBSET})*+>)\s*+)*+<([^\s>/!?]+)", re.DOTALL
    )
)
_DECLARED = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_HEAD = 20_000  # characters before the root that are looked through

Start = Callable[[str, dict[str, str], int, int], None]
End = Callable[[str, int], None]


def root_name(text: str) -> str:
    """The name of the outermost element; nothing if a text does not begin as XML.

    >>> root_name('<?xml version="1.0"?><!DOCTYPE collection SYSTEM "BioC.dtd"><collection>'), root_name("<b")
    ('collection', 'b')
    """
    match = _ROOT.match(text[:_HEAD])
    return match[1] if match else ""


def read_declared(source: Source) -> tuple[bytes, str]:
    """The bytes of an XML file and its encoding: the declared one, or UTF-8, in which what is broken is mended."""
    data = source.read_bytes()
    declared = _DECLARED.match(data)
    if declared is None or declared[1].lower() in (b"utf-8", b"utf8", b"us-ascii"):
        return data, "UTF-8"
    source.problems = [problem for problem in source.problems if problem.kind != "broken UTF-8"]  # as it is none
    return source.read_raw_bytes(), declared[1].decode()


def look_through(data: bytes, name: str, what: str, start: Start | None = None, end: End | None = None) -> bytes:
    """The bytes of an XML file without its document type.

    `start` is called for each element with its name, attributes, line and first byte; `end` with its name and the byte
    after it.

    Raises:
        CorpusError: the file declares entities, which can make a small file a huge one or open others, or is not
            well-formed.
    """
    parser = expat.ParserCreate()
    doctypes: list[int] = []

    def refuse_declarations(*_: object) -> None:
        raise CorpusError(
            f"{name} is {what} whose document type declares entities or elements; such declarations can open other "
            "files and fill the memory, so they are not read: take out what stands in [ ] in its DOCTYPE"
        )

    def open_doctype(_name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        if has_subset:
            refuse_declarations()
        doctypes.append(parser.CurrentByteIndex)

    def open_element(tag: str, attributes: dict[str, str]) -> None:
        if start is not None:
            start(tag, attributes, parser.CurrentLineNumber, parser.CurrentByteIndex)

    def close_element(tag: str) -> None:
        if end is not None:
            byte = parser.CurrentByteIndex  # of an element without content already the one after it
            end(tag, data.index(b">", byte) + 1 if data[byte : byte + 2] == b"</" else byte)

    parser.StartDoctypeDeclHandler = open_doctype
    parser.EntityDeclHandler = refuse_declarations
    if start is not None or end is not None:
        parser.StartElementHandler = open_element
        parser.EndElementHandler = close_element
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        message = f"{name} looks like {what}, but is no well-formed XML: {expat.ErrorString(error.code)} at {where}"
        raise CorpusError(f"{message}; correct it there, or export it again") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not for single bytes
        message = f"{name} looks like {what}, but its encoding cannot be read: {error}"
        raise CorpusError(f"{message}; write it as UTF-8") from None
    for at in doctypes:
        begin = data.rfind(b"<!DOCTYPE", 0, at + 1)
        match = _DOCTYPE.match(data, max(begin, 0))
        if match is None:
            refuse_declarations()
        else:
            data = data[:begin] + b"\n" * match[0].count(b"\n") + data[match.end() :]
    return data
