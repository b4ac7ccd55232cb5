"""Several processes predict what one predicts: in order, each document once, whatever becomes of the processes."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import pytest
import torch

from nearspan.document import Document
from nearspan.errors import ConfigError, NearspanError
from nearspan.model import workers
from nearspan.model.predict import Predictor
from nearspan.model.workers import Workers, load_snapshot, parts, save_snapshot
from nearspan.processes import Child

ODD = """
import os, signal
from nearspan.model.workers import Annotator

class Odd(Annotator):
    def __init__(self, snapshot, threshold):
        super().__init__(snapshot, threshold)
        annotate = self.predictor.annotate
        class Predictor:
            def annotate(self, documents):
                for document in annotate(documents):
                    if "deadly" in document.text:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if "bad" in document.text:
                        raise ValueError("no such text")
                    yield document
        self.predictor = Predictor()
"""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(workers, "CHARACTERS", 60)  # two or three sentences


@pytest.fixture
def odd_workers(monkeypatch, tmp_path: Path):
    """Workers that die of a deadly document, and refuse a bad one."""
    (tmp_path / "odd_worker.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Workers, "_start", lambda pool: Child("odd_worker:Odd", str(pool._snapshot), None))


def scores(documents: list[Document]) -> list[float | None]:
    return [entity.score for document in documents for entity in document.entities]


def test_they_read_on_only_as_results_are_taken(instance):
    taken = count()

    def endless():
        while True:
            next(taken)
            yield "Ada lives in Oslo"

    with closing(instance.pipe(endless(), workers=2)) as annotated:
        assert len(list(islice(annotated, 5))) == 5
    assert next(taken) < 5 + 4 * (workers.PARTS * 2 + 1)  # four of these texts are a part


def test_two_workers_give_what_one_process_gives_though_one_is_killed(instance, documents):
    instance.set_threshold({"PERSON": 1.0})  # the model is taken as it is now, not as it was saved
    texts = [document.with_entities(()) for document in documents] * 10
    expected, annotated = list(instance.pipe(texts, workers=1)), []
    with closing(Workers(instance, 2)) as pool:
        for number, document in enumerate(pool.annotate(iter(texts))):
            annotated.append(document)
            if number == 5:
                os.kill(pool._children[0].pid, signal.SIGKILL)
    assert annotated == expected
    assert {entity.label for document in annotated for entity in document.entities} == {"PLACE"}
    assert scores(annotated) == pytest.approx(scores(expected), abs=1e-6)


def test_documents_that_kill_their_workers_are_named(instance, odd_workers):
    texts = [Document("Ada lives in Oslo " * 4, id=f"d{number}") for number in range(6)]
    texts[3] = Document("deadly " * 10, id="d3")
    with pytest.raises(NearspanError, match=r"SIGKILL.*twice, at documents 4 to 4 \('d3' to 'd3'\)"):
        list(instance.pipe(texts, workers=2))


def test_an_error_carries_the_document(instance, odd_workers):
    texts = [Document(f"{'bad' if number == 7 else 'Ada'} lives in Oslo", id=f"d{number}") for number in range(10)]
    with pytest.raises(ValueError, match="no such text") as error:
        list(instance.pipe(texts, workers=2))
    assert error.value.__notes__[0] == "at document 8 (id 'd7')"


def test_what_is_wrong_with_the_texts_themselves_is_raised_as_ever(instance):
    with pytest.raises(TypeError, match="expected a text"):
        list(instance.pipe(["Ada", 3], workers=2))


def test_a_snapshot_is_the_model_with_its_editor(instance, tmp_path: Path):
    assert len(instance.memory) == 12
    save_snapshot(instance, tmp_path / "model.pt")
    other = load_snapshot(tmp_path / "model.pt")
    assert other.memory.model is other
    assert len(other.memory) == 12
    assert torch.equal(other.datastore.labels, instance.datastore.labels)
    assert other("Ada lives in Oslo") == instance("Ada lives in Oslo")


def test_a_part_that_cannot_go_to_other_processes_is_named(instance, tmp_path: Path):
    instance.network.local = lambda: None
    with pytest.raises(ConfigError, match=r"cannot be given to other processes.*workers=1"):
        list(instance.pipe(["Ada"], workers=2))


def test_a_part_that_only_the_script_knows_is_named(instance, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(type(instance.network.head), "__module__", "__main__")
    with pytest.raises(ConfigError, match=r"do not know NearestHead.*workers=1"):
        list(instance.pipe(["Ada"], workers=2))


def test_a_full_disk_is_named(instance, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"nowhere cannot hold it.*TMPDIR"):
        save_snapshot(instance, tmp_path / "nowhere" / "model.pt")


def test_by_default_a_model_that_cannot_be_shared_is_read_by_one_process(instance, monkeypatch, caplog):
    monkeypatch.setattr(workers, "START", 0.0)
    monkeypatch.setattr(workers, "usable_cores", lambda: 2)
    instance.network.local = lambda: None
    texts = ["Ada lives in Oslo"] * 20
    assert list(instance.pipe(texts)) == list(instance.pipe(texts, workers=1))
    assert "one core does all the work" in caplog.text


def test_ctrl_c_on_a_terminal_does_not_reach_a_process_that_starts():
    with Child("builtins:list") as child:
        assert os.getpgid(child.pid) != os.getpgrp()


def test_no_workers_are_none(instance):
    with pytest.raises(ConfigError, match="`workers` is 0"):
        list(instance.pipe(["Ada"], workers=0))


def test_parts_do_not_depend_on_the_number_of_workers():
    assert [len(part) for part in parts(["a" * 50, "b" * 50, "c" * 50])] == [2, 1]
    assert list(parts([])) == []


class NoProcesses:
    """A pool that works in this process."""

    def __init__(self, model, count, threshold):
        self.model, self.is_used = model, False

    def annotate(self, documents):
        self.is_used = True
        return Predictor(self.model).annotate(documents)

    def close(self):
        pass


@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.parametrize(("start", "cores", "pools"), [(0.0, 2, 1), (0.0, 1, 0), (1e9, 2, 0)])
def test_by_default_workers_start_where_the_work_is_worth_it(
    instance, documents, monkeypatch, start, cores, pools, kind
):
    made = []
    monkeypatch.setattr(workers, "START", start)
    monkeypatch.setattr(workers, "usable_cores", lambda: cores)
    monkeypatch.setattr(workers, "Workers", lambda *arguments: made.append(NoProcesses(*arguments)) or made[-1])
    texts = [document.text for document in documents]
    assert list(instance.pipe(kind(texts))) == list(instance.pipe(texts, workers=1))
    assert [pool.is_used for pool in made] == [True] * pools


def test_work_that_is_done_before_workers_start_needs_none(instance, monkeypatch):
    monkeypatch.setattr(workers, "START", 0.0)
    monkeypatch.setattr(workers, "usable_cores", lambda: 2)
    monkeypatch.setattr(workers, "Workers", None)
    assert len(list(instance.pipe(iter(["Ada lives in Oslo"])))) == 1


SCRIPT = """
import sys, nearspan
model = nearspan.load(sys.argv[1], "cpu")
print([len(document.entities) for document in model.pipe(["Ada lives in Oslo"] * 3, workers=2)])
"""


def test_a_script_needs_no_guard(folders, tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(folders["instance"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("[2, 2, 2]\n", 0), done.stderr
