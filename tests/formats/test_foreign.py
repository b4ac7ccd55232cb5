"""Files that are of no format that is read: the error says what they look like and what to do."""

import gzip
from pathlib import Path

import pytest

from nearspan.errors import UnclearFormatError
from nearspan.formats import read

FILES = {
    b"%PDF-1.7\n": "a PDF",
    b"PK\x03\x04\x14\x00": "a zip file",
    b"\x80\x04\x95\x1a": "a pickle of Python",
    b"SQLite format 3\x00": "an SQLite database",
    b"\xfd7zXZ\x00": "a file compressed with xz",
    b"\x01\x00\x02": "no text, and no binary format",
    b"<TEI><text>Ada wrote</text></TEI>": "TEI, which is not read",
    b"<?xml version='1.0'?><GateDocument/>": "a document of GATE",
    b"<books><book/></books>": "XML of <books>",
    b"name,age\nAda,36\n": "a table; a table needs the columns",
    b"Ada\tNNP\nwrote\tVBD\n": "columns or a table; columns need tags",
    b"[1, 2]": "JSON, but not of objects",
    b"Ada wrote a note.\nNobody read it.\n": "plain text, in which nothing is annotated",
}


@pytest.mark.parametrize("content", FILES, ids=FILES.values())
def test_what_a_file_looks_like_is_said(content: bytes, tmp_path: Path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UnclearFormatError, match=f"which looks like {FILES[content]}"):
        read(tmp_path / "a")


def test_it_is_said_of_compressed_files_too(tmp_path: Path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"%PDF-1.7\n"))
    with pytest.raises(UnclearFormatError, match="looks like a PDF"):
        read(tmp_path / "a.gz")
