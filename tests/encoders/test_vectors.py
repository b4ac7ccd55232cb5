"""Vector files: what is read, what is kept, and what is said of a bad one."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from nearspan.encoders.vector_files import read_vectors
from nearspan.errors import ResourceError

GLOVE = "the 0.5 -1 2\noslo 1 2 3\nAda 4 5 6e-1\n"
EVERYTHING = 10**9


def write_content(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, limit: int = EVERYTHING, also: tuple[str, ...] = ()) -> dict[str, list[float]]:
    words, vectors = read_vectors(path, limit, also)
    return {word: [round(float(value), 2) for value in row] for word, row in zip(words, vectors, strict=True)}


EXPECTED = {"the": [0.5, -1, 2], "oslo": [1, 2, 3], "Ada": [4, 5, 0.6]}


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "3 3\n" + GLOVE,  # word2vec's header
        "3 3\n" + GLOVE.replace("\n", " \n"),  # fastText ends its lines with a blank
        GLOVE.replace("\n", "\r\n"),
        GLOVE.rstrip("\n"),
        GLOVE + "oslo 9 9 9\n",  # the first of two rows counts
    ],
    ids=["glove", "word2vec", "fasttext", "crlf", "no last newline", "word twice"],
)
def test_the_usual_text_files_are_read(tmp_path: Path, content: str):
    assert read(write_content(tmp_path / "v.txt", content)) == EXPECTED


def test_gzip_is_seen_from_the_content(tmp_path: Path):
    assert read(write_content(tmp_path / "v.txt", gzip.compress(GLOVE.encode()))) == EXPECTED


def test_words_may_hold_blanks_and_any_character(tmp_path: Path):
    path = write_content(
        tmp_path / "v.txt", "the 1 2\n. . . 3 4\nat name@domain.com 5 6\nnon\u00a0breaking 7 8\n10 9 1\n"
    )
    assert read(path) == {
        "the": [1, 2],
        ". . .": [3, 4],
        "at name@domain.com": [5, 6],
        "non\u00a0breaking": [7, 8],
        "10": [9, 1],
    }


def test_the_limit_keeps_the_first_words_and_those_asked_for(tmp_path: Path):
    path = write_content(tmp_path / "v.txt", "a 1\nb 2\nc 3\nd 4\n")
    assert read(path, 1) == {"a": [1]}
    assert read(path, 1, ("d", "absent")) == {"a": [1], "d": [4]}
    assert read(path, 0, ("c",)) == {"c": [3]}


def test_the_second_reading_takes_the_cache(tmp_path: Path):
    path = write_content(tmp_path / "v.txt", GLOVE)
    read(path)
    [cache] = (tmp_path / "cache").iterdir()
    stat = path.stat()
    path.write_bytes(b"x" * stat.st_size)  # nobody looks at the file again
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert read(path) == EXPECTED
    assert list((tmp_path / "cache").iterdir()) == [cache]


def test_a_changed_file_is_read_again(tmp_path: Path):
    path = write_content(tmp_path / "v.txt", GLOVE)
    read(path)
    assert read(write_content(path, "new 1 2 3 4\n")) == {"new": [1, 2, 3, 4]}


@pytest.mark.parametrize("damage", [b"", b"\x00" * 50, b"cut"])
def test_a_damaged_cache_is_survived(tmp_path: Path, damage: bytes):
    path = write_content(tmp_path / "v.txt", GLOVE)
    read(path)
    [cache] = (tmp_path / "cache").iterdir()
    cache.write_bytes(damage if damage != b"cut" else cache.read_bytes()[:-4])
    assert read(path) == EXPECTED
    assert read(path) == EXPECTED


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NEARSPAN_CACHE", str(write_content(tmp_path / "file", "in the way") / "cache"))
    assert read(write_content(tmp_path / "v.txt", GLOVE)) == EXPECTED


def test_a_full_disk_for_the_cache_is_no_failure(tmp_path: Path, full_disk):
    path = write_content(tmp_path / "v.txt", GLOVE)
    with full_disk(50):
        assert read(path) == EXPECTED
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a 1 2\nb 1\n", 2),
        ("a 1 2\nb 1 2 3\n", 2),
        ("a 1 2\nb one two\n", 2),
        ("a 1 2\nb 1 x\n", 2),
        ("a 1 2\n\n\nb 1\n", 4),
        ("2 2\na 1 2\nb\n", 3),
        ("a\n", 1),
        ("This is a story.\nIt has no numbers.\n", 1),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, line: int):
    path = write_content(tmp_path / "v.txt", content)
    with pytest.raises(ResourceError, match=rf"v\.txt:{line}: expected a word and"):
        read(path)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e10"])
def test_a_number_that_is_not_finite_in_half_precision_is_named(tmp_path: Path, number: str):
    path = write_content(tmp_path / "v.txt", f"a 1 2\nb {number} 2\n")
    with pytest.raises(ResourceError, match=r"v\.txt:2: the vector holds a number that is not finite"):
        read(path)


def test_a_file_without_vectors_says_so(tmp_path: Path):
    for content in ("", "\n\n", "0 300\n"):
        with pytest.raises(ResourceError, match="holds no word vectors"):
            read(write_content(tmp_path / "v.txt", content))


def test_a_missing_file_says_which_setting(tmp_path: Path):
    with pytest.raises(ResourceError, match=r"no vector file at .*gone\.txt.*encoder\.vectors\.file"):
        read(tmp_path / "gone.txt")
    with pytest.raises(ResourceError, match="no vector file at"):
        read(tmp_path / ("x" * 300))


@pytest.mark.parametrize("damage", ["cut", "flipped", "binary"])
def test_damaged_bytes_are_a_clear_error(tmp_path: Path, damage: str):
    text = "".join(f"word{number} {number} {number / 7:.6f}\n" for number in range(500))
    packed = bytearray(gzip.compress(text.encode()))
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    elif damage == "flipped":
        middle = len(packed) // 2
        packed[middle : middle + 40] = b"\xff" * 40
    else:
        packed = bytearray(np.random.default_rng(0).bytes(5000))
    with pytest.raises(ResourceError, match=r"v\.gz"):
        read(write_content(tmp_path / "v.gz", bytes(packed)))
