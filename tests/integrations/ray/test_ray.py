"""A cluster of this machine: every input has one output, the same as without a cluster, whatever dies."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")
import pyarrow
import pyarrow.parquet
import ray
import ray.data

from nearspan.document import Document, Entity, Span
from nearspan.errors import ConfigError
from nearspan.formats.jsonl import json_line
from nearspan.integrations.ray import annotate, annotate_files, cluster, files
from nearspan.integrations.ray.datasets import ENTITY
from nearspan.integrations.ray.inputs import find_inputs
from nearspan.integrations.ray.job import Job, job_digest
from nearspan.integrations.ray.storage import Place

TEXTS = ["Ada lives in Oslo", "Bob Stone left", "", "Nobody lives here", "Eve met Ada in Rome"]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80_000_000)
    yield
    ray.shutdown()


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "letters" / "old").mkdir(parents=True)
    records = [
        {"text": text} if number % 2 else {"id": f"a{number}", "text": text} for number, text in enumerate(TEXTS)
    ]
    (folder / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), folder / "b.parquet")
    (folder / "letters" / "10.txt").write_text(TEXTS[0])
    (folder / "letters" / "9.txt").write_text("\ufeff" + TEXTS[1])
    (folder / "letters" / "old" / "1.txt").write_text(TEXTS[4])
    return folder


class Deadly(files._PartAnnotator):
    """A worker that dies of a text: always, or only where nobody has died before."""

    def _annotate(self, part):
        annotate = self.worker.entities
        died = Path(self.job.place.path).with_name("died")

        def entities(documents):
            for document in documents:
                if "always" in document.text or ("once" in document.text and not died.exists()):
                    died.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            return annotate(documents)

        self.worker.entities = entities
        try:
            return super()._annotate(part)
        finally:
            self.worker.entities = annotate


def lines(model, documents) -> str:
    return "".join(json_line(document) + "\n" for document in model.pipe(documents, workers=1))


def test_each_input_has_one_output_and_failures_are_listed(nearspan_command, folders, classifier, inputs, tmp_path):
    (inputs / "bad.parquet").write_bytes(b"PAR1 and no more")
    out = tmp_path / "out"
    arguments = ["annotate", folders["classifier"], f"{inputs}/*.*", inputs / "letters", "--out", out, "--ray", "local"]
    ran = nearspan_command(*arguments, "--workers", "1")
    assert ran.code == 1
    assert "bad.parquet looks like a parquet file" in ran.err
    ids = ["a0", "a.jsonl#2", "a2", "a.jsonl#4", "a4"]
    a = [Document(text, id=id) for text, id in zip(TEXTS, ids, strict=True)]
    b = [Document(text, id=f"b.parquet#{number}") for number, text in enumerate(TEXTS, 1)]
    letters = [Document(TEXTS[1], id="9"), Document(TEXTS[0], id="10"), Document(TEXTS[4], id="old/1")]
    for name, documents in {"a": a, "b": b, "letters": letters}.items():
        assert (out / f"{name}.jsonl").read_text() == lines(classifier, documents)
    [failure] = (out / "failed.jsonl").read_text().splitlines()
    assert json.loads(failure)["input"] == str(inputs / "bad.parquet")
    (inputs / "bad.parquet").unlink()
    assert nearspan_command(*arguments).code == 0  # nothing is left to do
    assert sorted(path.name for path in out.iterdir()) == [".nearspan", "a.jsonl", "b.jsonl", "letters.jsonl"]


def test_a_stopped_job_goes_on_with_the_parts_that_are_left(classifier, inputs, tmp_path):
    job, source = Job(Place.of(str(tmp_path / "out"))), str(inputs / "a.jsonl")
    job.begin(find_inputs([source]), job_digest(classifier, None), False)
    job.part("a.jsonl", 0, 0).write([b'{"text": "what was there"}\n'])
    outcome = annotate_files(classifier, [source], tmp_path / "out", workers=1)
    assert outcome.texts == 0
    assert (tmp_path / "out" / "a.jsonl").read_text() == '{"text": "what was there"}\n'


def test_a_text_that_kills_its_worker_costs_its_file_alone(classifier, inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_PartAnnotator", Deadly)
    (inputs / "once.jsonl").write_text('{"text": "once"}\n')
    (inputs / "always.jsonl").write_text('{"text": "always"}\n')
    outcome = annotate_files(classifier, [f"{inputs}/*.jsonl"], tmp_path / "out", workers=1)
    assert [Path(name).name for name in outcome.outputs] == ["a.jsonl", "once.jsonl"]
    [(address, reason)] = outcome.failed.items()
    assert Path(address).name == "always.jsonl"
    assert "from document 'always.jsonl#1' to 'always.jsonl#1' has killed 3 processes" in reason


def test_inputs_are_read_wherever_they_are(classifier, inputs, tmp_path):
    shutil.make_archive(str(tmp_path / "all"), "zip", inputs)
    archive = f"::{(tmp_path / 'all.zip').as_uri()}"
    annotate_files(classifier, [f"zip://a.jsonl{archive}"], (tmp_path / "out").as_uri(), workers=1)
    assert len((tmp_path / "out" / "a.jsonl").read_text().splitlines()) == len(TEXTS)


def test_no_output_is_written_over_an_input(classifier, inputs):
    with pytest.raises(Exception, match="among the files that are read"):
        annotate_files(classifier, [inputs / "a.jsonl"], inputs)


def test_a_dataset_gets_a_column_of_entities(classifier):
    rows = [{"number": number, "body": text} for number, text in enumerate([*TEXTS, None])]
    found = annotate(ray.data.from_items(rows), classifier, text="body", workers=1).sort("number").take_all()
    assert [row["body"] for row in found] == [*TEXTS, None]
    expected = [document.entities for document in classifier.pipe([*TEXTS, ""], workers=1)]
    places = [[(each["label"], each["start"], each["end"], each["text"]) for each in row["entities"]] for row in found]
    assert places == [[(each.label, each.start, each.end, each.text) for each in entities] for entities in expected]
    assert any(expected)


def test_a_column_of_entities_holds_identifiers():
    attributes = {"identifier": "Q90", "identifier_share": 0.5}
    record = Entity(Span.of(0, 5), "PLACE", attributes=attributes).to_dict()
    assert pyarrow.array([record], ENTITY).to_pylist()[0]["attributes"] == attributes


def test_without_a_cluster_one_is_asked_for(monkeypatch, classifier, inputs, tmp_path):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ConfigError, match="not connected to a cluster"):
        annotate_files(classifier, [inputs / "a.jsonl"], tmp_path)


def test_an_address_where_no_cluster_is_is_an_error(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(*_, **__):
        raise ConnectionError("Could not find any running Ray instance")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ConfigError, match="no Ray cluster answers at 'auto'"), cluster("auto"):
        pass
