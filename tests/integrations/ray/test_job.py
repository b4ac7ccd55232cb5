"""What is on disk at any moment says what is done, and by which model; no cluster is needed to test it."""

import shutil
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("ray")

import nearspan
from nearspan.errors import CorpusError, NearspanError
from nearspan.integrations.ray.inputs import find_inputs
from nearspan.integrations.ray.job import Job, job_digest
from nearspan.integrations.ray.storage import Place


@pytest.fixture(params=["", "memory://"])
def place(request, tmp_path: Path) -> Place:
    """A folder on this machine, and one elsewhere."""
    return Place.of(f"{request.param}{tmp_path / uuid4().hex}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "Oslo"}\n')
    return tmp_path / "in" / "a.jsonl"


def test_a_file_is_there_whole_or_not_at_all(place):
    def stopped():
        yield b"half of "
        raise KeyboardInterrupt

    file = place / "a/b.jsonl"
    file.write([b"all ", b"of it"])
    with pytest.raises(KeyboardInterrupt):
        file.write(stopped())
    assert file.read() == b"all of it"
    assert place.names() == ["a/b.jsonl"]


def test_parts_are_joined_in_order_and_go(place):
    job = Job(place)
    for piece, number in [(0, 1), (1, 0), (0, 0)]:
        job.part("a.jsonl", piece, number).write([f"{piece}-{number}\n".encode()])
    assert {piece: sorted(numbers) for piece, numbers in job.done("a.jsonl").items()} == {0: [0, 1], 1: [0]}
    job.finish("a.jsonl", [2, 1])
    assert job.output("a.jsonl").read() == b"0-0\n0-1\n1-0\n"
    assert job.done("a.jsonl") == {}


def test_what_was_joined_is_not_joined_again_where_its_parts_are_gone(place):
    job = Job(place)
    job.part("a.jsonl", 0, 0).write([b"{}\n"])
    job.finish("a.jsonl", [1])
    job.finish("a.jsonl", [1])  # as a task does that is started again
    assert job.output("a.jsonl").read() == b"{}\n"


def test_what_is_done_is_left_out_and_what_has_changed_is_begun_anew(place, source):
    job, inputs = Job(place), find_inputs([str(source)])
    assert job.begin(inputs, "model", False) == inputs
    job.part("a.jsonl", 0, 0).write([b"{}\n"])
    job.finish("a.jsonl", [1])
    assert job.begin(inputs, "model", False) == []
    source.write_text('{"text": "Bergen"}\n{"text": "Oslo"}\n')
    assert job.begin(inputs, "model", False) == inputs
    assert not job.output("a.jsonl").exists()


def test_results_of_two_models_are_never_mixed(place, source):
    job, inputs = Job(place), find_inputs([str(source)])
    job.begin(inputs, "one", False)
    job.part("a.jsonl", 0, 0).write([b"{}\n"])
    with pytest.raises(CorpusError, match="results of another model"):
        job.begin(inputs, "two", False)
    job.begin(inputs, "two", True)
    assert job.done("a.jsonl") == {}


def test_a_file_of_somebody_else_is_not_written_over(place, source):
    (place / "a.jsonl").write([b"mine"])
    with pytest.raises(CorpusError, match="exists already"):
        Job(place).begin(find_inputs([str(source)]), "model", False)


def test_what_kills_who_tries_is_tried_so_many_times(place):
    job = Job(place)
    for _ in range(2):
        (place / f".nearspan/attempts/a.jsonl/0-0/{uuid4().hex}").write([])  # of a process that was killed
    with job.attempt("a.jsonl", "0-0", "a part", 3):
        pass
    (place / f".nearspan/attempts/a.jsonl/0-0/{uuid4().hex}").write([])
    with (
        pytest.raises(NearspanError, match="a part has killed 3 processes"),
        job.attempt("a.jsonl", "0-0", "a part", 3),
    ):
        pass


def test_failures_are_listed_until_there_are_none(place):
    job = Job(place)
    job.end({"in/a.jsonl": "no such thing"})
    assert job.output("failed.jsonl").read() == b'{"input": "in/a.jsonl", "error": "no such thing"}\n'
    job.end({})
    assert not job.output("failed.jsonl").exists()


def test_patterns_keep_the_folders_that_they_match(tmp_path):
    for name in ("may/a.conll.gz", "june/a.jsonl", "june/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    inputs = find_inputs([f"{tmp_path}/*/*", f"{tmp_path}/june/b.txt"])
    assert [each.output for each in inputs] == ["june/a.jsonl", "june/b.jsonl", "may/a.jsonl"]
    with pytest.raises(CorpusError, match=r"would both be written to a\.jsonl"):
        find_inputs([f"{tmp_path}/june/a.jsonl", f"{tmp_path}/may/a.conll.gz"])


@pytest.mark.parametrize("address", ["nowhere.jsonl", "no*.jsonl", "nosuch://a.jsonl"])
def test_an_address_of_nothing_is_an_error(tmp_path, address, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match=address.replace("*", r"\*")):
        find_inputs([address])


def test_a_jobs_digest_follows_the_memory_and_the_settings(folders, tmp_path):
    instance = nearspan.load(shutil.copytree(folders["instance"], tmp_path / "model"), "cpu")  # others' stays as it is
    before = job_digest(instance, None)
    assert job_digest(instance, None, "jsonl") != before
    assert job_digest(instance, None) == before != job_digest(instance, 0.5)
    instance.memory.add("[Vienna](PLACE) is cold")
    assert job_digest(instance, None) != before
