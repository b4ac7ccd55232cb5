"""Hugging Face datasets: objects, parquet, folders, and rows as JSON."""

import gzip
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Value

import nearspan
from nearspan.errors import CorpusError, ResourceError
from nearspan.formats import read, stream, write
from nearspan.formats.datasets import to_dataset
from nearspan.formats.markup import parse, render
from nearspan.formats.tagged_rows import TaggedRows

Put = Callable[..., Path]
NAMES = ["O", "B-PER", "I-PER"]


def rows(tags: list[list[Any]], feature: Any) -> Dataset:
    table = {"tokens": [["Ada", "Lovelace", "wrote"]] * len(tags), "ner_tags": tags}
    return Dataset.from_dict(table, features=Features({"tokens": [Value("string")], "ner_tags": [feature]}))


def numbered() -> Dataset:
    return rows([[1, 2, 0]], ClassLabel(names=NAMES))


def test_a_dataset_is_read_as_it_is():
    assert render(nearspan.read(numbered())[0]) == "[Ada Lovelace](PER) wrote"
    assert render(nearspan.read(rows([["B-PER", "I-PER", "O"]], Value("string")))[0]) == "[Ada Lovelace](PER) wrote"


def test_whatever_takes_documents_takes_a_dataset():
    assert nearspan.check(numbered())["entities"] == 1


def test_all_parts_of_a_dataset_dict_are_read():
    corpus = nearspan.read(DatasetDict({"train": numbered(), "test": numbered()}))
    assert [document.id for document in corpus] == ["train#1", "test#1"]


def test_numbers_without_names_are_refused(put: Put):
    with pytest.raises(CorpusError, match="numbers without names; cast the column to"):
        read(rows([[1, 2, 0]], Value("int64")))
    with pytest.raises(CorpusError, match=r"no dataset_info\.json beside it has their names"):
        read(put("a", '{"tokens": ["Ada"], "ner_tags": [1]}\n'))


def test_names_of_tags_may_be_beside_the_file(put: Put):
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}
    put("dataset_info.json", json.dumps({"features": {"ner_tags": feature}}))
    assert render(read(put("a", '{"tokens": ["Ada"], "ner_tags": [1]}\n'))[0]) == "[Ada](PER)"


def test_a_number_that_has_no_name_is_listed():
    corpus = read(rows([[1, 2, 0], [1, -1, 0]], ClassLabel(names=NAMES)))
    assert [(problem.kind, problem.lost) for problem in corpus.problems] == [("unknown tag", 1)]


def test_labels_without_prefixes_are_read_as_runs_of_words():
    corpus = read(rows([[1, 1, 0]], ClassLabel(names=["O", "PER"])))
    assert (render(corpus[0]), corpus.problems[0].kind) == ("[Ada Lovelace](PER) wrote", "no prefix")


def test_rows_of_texts_and_entities_are_read_as_in_json(tmp_path: Path):
    entities = [[{"start": 0, "end": 3, "label": "PER"}]]
    Dataset.from_dict({"text": ["Ada wrote"], "entities": entities}).to_parquet(tmp_path / "a.parquet")
    assert render(read(tmp_path / "a.parquet")[0]) == "[Ada](PER) wrote"


def test_datasets_reads_what_is_written(tmp_path: Path):
    write([parse("[Ada](PER) wrote")], tmp_path / "a.parquet")
    dataset = Dataset.from_parquet(str(tmp_path / "a.parquet"), cache_dir=str(tmp_path / "cache"))
    assert dataset.features["ner_tags"].feature.names == NAMES
    assert dataset[0]["ner_tags"] == [1, 0]
    assert to_dataset(nearspan.read(dataset))[0]["ner_tags"] == [1, 0]


def test_other_columns_are_counted():
    dataset = numbered().add_column("chunk_tags", [[0, 0, 0]])
    assert [problem.message for problem in read(dataset).problems] == [
        "documents with 'chunk_tags', which is not read: 1"
    ]


def test_entities_that_share_words_are_refused_dropped_or_flattened(tmp_path: Path):
    nested = [parse("[[Ada](FIRST) Lovelace](PER) wrote")]
    with pytest.raises(CorpusError, match="shares words with another"):
        write(nested, tmp_path / "a.parquet")
    changes = write(nested, tmp_path / "a.parquet", unfit="drop")
    assert render(read(tmp_path / "a.parquet")[0]) == "[Ada Lovelace](PER) wrote"
    assert sum(change.lost for change in changes) == 1


def test_a_damaged_parquet_file_is_an_error_that_names_the_format(put: Put):
    with pytest.raises(CorpusError, match="looks like a parquet file, but pyarrow cannot read it"):
        read(put("a", b"PAR1 and no more"))


@pytest.mark.parametrize(("module", "content"), [("pyarrow", b"PAR1"), ("pyarrow.parquet", b"PAR1")])
def test_a_file_whose_library_is_missing_names_the_extra(
    put: Put, module: str, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ResourceError, match=r"a parquet file, needs pyarrow, .* pip install 'nearspan\[datasets\]'"):
        read(put("a", content))


def test_a_folder_that_is_damaged_is_an_error_that_names_the_format(tmp_path: Path):
    numbered().save_to_disk(tmp_path / "a")
    next((tmp_path / "a").glob("*.arrow")).write_bytes(b"")
    with pytest.raises(CorpusError, match="looks like a folder saved by `datasets`"):
        read(tmp_path / "a")


def test_columns_that_a_format_hides_are_read(tmp_path: Path):
    hidden = numbered().with_format("numpy", columns=["tokens"])
    hidden.save_to_disk(tmp_path / "saved")
    for corpus in (read(hidden), read(tmp_path / "saved")):
        assert render(corpus[0]) == "[Ada Lovelace](PER) wrote"


def test_pictures_are_not_opened(tmp_path: Path):
    table = {"tokens": [["Ada", "wrote"]], "ner_tags": [["B-PER", "O"]], "picture": [{"path": "", "bytes": b"none"}]}
    words = [Value("string")]
    features = Features({"tokens": words, "ner_tags": words, "picture": Image()})
    Dataset.from_dict(table, features=features).save_to_disk(tmp_path / "saved")
    corpus = read(tmp_path / "saved")
    assert render(corpus[0]) == "[Ada](PER) wrote"
    assert "documents with 'picture', which is not read: 1" in [problem.message for problem in corpus.problems]


def test_a_stream_is_read():
    assert render(nearspan.read(numbered().to_iterable_dataset())[0]) == "[Ada Lovelace](PER) wrote"


def test_a_parquet_file_that_fills_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A text that all rows share is in the file once."""
    text = "Ada wrote. " * 100
    Dataset.from_dict({"text": [text] * 3000, "entities": [[]] * 3000}).to_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 20_000
    assert len(read(tmp_path / "a.parquet")) == 3000
    monkeypatch.setattr("nearspan.formats.source._MOST_UNPACKED", 1_000_000)
    monkeypatch.setattr("nearspan.formats.source._MOST_RATIO", 10)
    with pytest.raises(CorpusError, match="unpacks to more than 1,000,000 bytes"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("shared", ["rows", "words of one row", "tags"])
def test_a_parquet_file_is_refused_before_what_its_rows_share_is_unpacked(shared: str, tmp_path: Path):
    """It would take 8 GB: no more is taken than any file may unpack to, once as arrays and once as texts."""
    code = f"""
import resource, sys
import pyarrow as pa, pyarrow.parquet as parquet
import nearspan
from nearspan.formats import read
large = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["x" * 2_000_000]))
begins = pa.array([0, 4000], pa.int32())
table = {{
    "rows": lambda: {{"text": large, "entities": pa.array([[]] * 4000, pa.list_(pa.int64()))}},
    "words of one row": lambda: {{"tokens": pa.ListArray.from_arrays(begins, large), "ner_tags": [["O"] * 4000]}},
    "tags": lambda: {{
        "tokens": [["Ada"]],
        "ner_tags": pa.ListArray.from_arrays(
            pa.array([0, 40_000_000], pa.int32()), pa.repeat(pa.scalar(0, pa.int64()), 40_000_000)
        ),
    }},
}}[{shared!r}]
parquet.write_table(pa.table(table()), sys.argv[1], store_schema=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(sys.argv[1])
except nearspan.errors.CorpusError as error:
    print(error, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.parquet")]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert (tmp_path / "a.parquet").stat().st_size < 200_000
    assert "unpacks to more than" in answer
    assert answer.strip().endswith("True")


def test_strings_that_rows_share_are_read_wherever_they_stand(tmp_path: Path):
    rows = [{"text": "Ada wrote", "entities": [{"start": 0, "end": 3, "label": "PER", "kind": "a"}]}] * 3
    Dataset.from_list(rows).to_parquet(tmp_path / "a.parquet")
    assert [render(document) for document in read(tmp_path / "a.parquet")] == ["[Ada](PER) wrote"] * 3


def test_parquet_rows_come_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write([parse(f"[Ada](PER) wrote {number}") for number in range(2000)], tmp_path / "a.parquet")
    taken: list[int] = []
    monkeypatch.setattr("nearspan.formats.parquet._ROWS", 10)
    add = TaggedRows.read
    monkeypatch.setattr(TaggedRows, "read", lambda *args: (taken.append(1), add(*args))[1])
    documents = stream(tmp_path / "a.parquet")
    next(documents)
    assert len(taken) == 1
    assert len(list(documents)) == 1999


@pytest.mark.parametrize("name", ["part.arrow", "part.arrow.gz"])
def test_one_arrow_file_of_a_folder_is_read_alone(name: str, tmp_path: Path):
    numbered().save_to_disk(tmp_path / "saved")
    data = next((tmp_path / "saved").glob("*.arrow")).read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    corpus = read(tmp_path / name)
    assert (corpus.format, [render(document) for document in corpus]) == ("datasets", ["[Ada Lovelace](PER) wrote"])


def test_a_damaged_arrow_file_is_an_error_that_says_what_it_is(tmp_path: Path):
    numbered().save_to_disk(tmp_path / "saved")
    data = next((tmp_path / "saved").glob("*.arrow")).read_bytes()
    (tmp_path / "a").write_bytes(data[:200])
    with pytest.raises(CorpusError, match="looks like an arrow file"):
        read(tmp_path / "a")


def test_offsets_that_lead_out_of_a_damaged_file_are_refused(tmp_path: Path):
    numbered().save_to_disk(tmp_path / "saved")
    file = next((tmp_path / "saved").glob("*.arrow"))
    offsets, wrong = struct.pack("<4i", 0, 3, 11, 16), struct.pack("<4i", 0, 3, 11, 10**9)
    assert offsets in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(offsets, wrong))
    for path in (tmp_path / "saved", file):
        with pytest.raises(CorpusError, match="cannot be loaded"):
            read(path)
