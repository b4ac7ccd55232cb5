"""What a file of no known format looks like, and what to do with it."""

import re

from nearspan.formats.source import Source
from nearspan.formats.xml_outline import root_name

_BEGINNINGS = (
    (b"%PDF", "a PDF", "take out its text first"),
    (b"PK\x03\x04", "a zip file, as of an export or of Word", "unpack it, and name what is in it"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or Excel", "save it as text or CSV first"),
    (b"SQLite format 3\0", "an SQLite database", "export its annotations first"),
    (b"\x89HDF", "HDF5", "write its rows as parquet or JSON lines first"),
    (b"Obj\x01", "Avro", "write its rows as parquet or JSON lines first"),
    (b"ORC", "ORC", "write its rows as parquet or JSON lines first"),
    (b"BZh", "a file compressed with bzip2", "unpack it first: bunzip2 FILE"),
    (b"\xfd7zXZ", "a file compressed with xz", "unpack it first: unxz FILE"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with Zstandard", "unpack it first: unzstd FILE"),
    *(
        (b"\x80" + version, "a pickle of Python", "write JSON lines, as opening a pickle can run anything")
        for version in (b"\x02", b"\x03", b"\x04", b"\x05")
    ),
)
_ROOTS = {
    "TEI": "TEI",
    "teiCorpus": "TEI",
    "GateDocument": "a document of GATE",
    "html": "a web page",
    "annotation": "annotations of one document",
}
_XML = "export it as UIMA CAS, BioC or brat, or write JSON lines"
_TABLE = "a table needs the columns start, end and label with text or document, or text with entities"
_COLUMNS = "columns need tags such as B-PER and O in the last one"
_NAME = re.compile(r"""["' ]{0,2}\w[\w .:-]{0,40}["']?""")
_LINES = 20  # that are looked at


def describe(source: Source) -> str:
    """What a file looks like and what to do with it.

    >>> from pathlib import Path
    >>> describe(Source(Path("a.xml"), "<TEI><text/></TEI>"))
    'TEI, which is not read; export it as UIMA CAS, BioC or brat, or write JSON lines'
    """
    for beginning, what, advice in _BEGINNINGS:
        if source.first_bytes.startswith(beginning):
            return f"{what}, which is not read; {advice}"
    if b"\0" in source.first_bytes:
        return "no text, and no binary format that is read; write it as parquet or JSON lines"
    if root := root_name(source.sample):
        return f"{_ROOTS.get(root, f'XML of <{root[:40]}>')}, which is not read; {_XML}"
    lines = [line for line in source.sample_lines if line.strip()][:_LINES]
    if lines[0].lstrip()[0] in '[{"':
        return "JSON, but not of objects with a text; write an object for each document"
    if all("\t" in line for line in lines):
        return f"columns or a table; {_COLUMNS}, and {_TABLE}"
    if len(lines) > 1 and "," in lines[0] and all(map(_NAME.fullmatch, lines[0].split(","))):
        return f"a table; {_TABLE}"
    return "plain text, in which nothing is annotated; `nearspan annotate MODEL FILE` finds entities in it"
