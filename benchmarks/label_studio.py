"""Annotating in the real Label Studio with a model that learns: is each annotation in the memory for the next task?

    python -m venv studio && studio/bin/pip install label-studio
    python benchmarks/label_studio.py eng.train eng.testa --label-studio studio/bin/label-studio --model runs/few
        --out R.json [--documents 30] [--minutes 20] [--annotations 50] [--held-out 300] [--train-every 25] [--pause 5]

The model, recipe `start`, is trained on the first `--documents` of the training file, unless its folder is there
already, and copied: the folder itself stays as it is. `nearspan serve --label-studio` and Label Studio, with an empty
database in a temporary folder, are processes of their own on loopback. Over Label Studio's API a project is created,
sentences that training has not seen are imported, and the model is connected. Then an annotator is simulated: it asks
for the next task, which comes with a prediction, and saves the gold annotation, one after the other. After each the
next task's prediction names the state of the memory that it was made with; this must be the one that holds what was
just saved. F1 is on sentences of the second file, by the served model, after every `--every` annotations. With
`--train-every` the server trains the model again after so many, and the annotator takes `--pause` seconds for each, as
people do. At the end a training with all annotations is asked for and waited for, and F1 taken once more. Then
annotations are changed, deleted and skipped, and a text with an emoji is predicted and annotated. What Label Studio
exports, before that and after it, is read as a corpus and compared with what was saved.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from many import current_commit

import nearspan
from nearspan.document import Document
from nearspan.evaluation import score
from nearspan.report.papers.curves import split_sentences

EMOJI = "😀 [Ada Moon](PER) 🇳🇴 lives in [Oslo](LOC)"
OPEN = {  # Label Studio refuses models and webhooks on this machine unless it is told not to
    "SSRF_PROTECTION_ENABLED": "false",
    "ML_BLOCK_LOCAL_IP": "false",
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
    "COLLECT_ANALYTICS": "false",
    "LATEST_VERSION_CHECK": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
}


def config(labels: Sequence[str]) -> str:
    values = "".join(f'<Label value="{label}"/>' for label in labels)
    return f'<View><Labels name="label" toName="text">{values}</Labels><Text name="text" value="$text"/></View>'


def regions(document: Document) -> list[dict[str, Any]]:
    """A document's entities as an annotator's regions."""
    return [
        {
            "id": f"r{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": each.start, "end": each.end, "text": each.text, "labels": [each.label]},
        }
        for number, each in enumerate(document.entities)
    ]


def entities(result: Sequence[dict[str, Any]]) -> set[tuple[int, int, str]]:
    values = [region["value"] for region in result]
    return {(value["start"], value["end"], value["labels"][0]) for value in values}


@contextmanager
def process(command: Sequence[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | environment)
        try:
            yield running
        finally:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(60)
            except subprocess.TimeoutExpired:
                running.kill()


def wait_for(what: str, log: Path, seconds: float, pattern: str) -> re.Match[str]:
    """The first place in a log that matches."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        match = re.search(pattern, log.read_text(errors="replace"))
        if match:
            return match
        time.sleep(0.2)
    raise SystemExit(f"{what} did not start within {seconds:g} s:\n{log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Studio:
    """Label Studio over its API."""

    def __init__(self, port: int, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120)

    def wait(self, seconds: float) -> None:
        """Until it answers; the first start sets up its database."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(httpx.TransportError):
                if self.client.get("/health").is_success:
                    return
            time.sleep(0.5)
        raise SystemExit(f"Label Studio did not start within {seconds:g} s")

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        if answer.is_error:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None


class Server:
    """`nearspan serve` over its own API."""

    def __init__(self, address: str, token: str) -> None:
        self.client = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120)

    @property
    def labels(self) -> list[str]:
        return list(self.client.get("/health").json()["labels"])

    def set_up(self, xml: str) -> dict[str, Any]:
        """What Label Studio asks before each prediction."""
        return dict(self.client.post("/label-studio/setup", json={"schema": xml, "project": "0"}).json())

    def edits(self) -> int:
        return int(self.client.get("/memory/log").json()["total"])

    def remembered(self, document: str) -> list[dict[str, Any]]:
        return list(self.client.get("/memory", params={"document": document}).json()["sentences"])

    def annotate(self, gold: Sequence[Document]) -> list[Document]:
        predicted = []
        for first in range(0, len(gold), 64):
            body = {"texts": [document.text for document in gold[first : first + 64]]}
            predicted += [
                Document.from_dict(each) for each in self.client.post("/annotate", json=body).json()["documents"]
            ]
        return predicted

    def f1(self, gold: Sequence[Document]) -> float:
        return round(score(gold, self.annotate(gold)).f1, 4)


def without_folders(command: Sequence[str]) -> list[str]:
    return [Path(part).name for part in command]


def spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median": round(statistics.median(ordered), 3),
        "p90": round(ordered[int(0.9 * len(ordered))], 3),
        "most": round(ordered[-1], 3),
    }


def annotate(
    studio: Studio,
    server: Server,
    project: int,
    gold: dict[str, Document],
    held: Sequence[Document],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Ask for the next task, compare its prediction, save the gold annotation; as many times as there are tasks."""
    f1, states, saving, fetching = {"0": server.f1(held)}, [], [], []
    right_before = right_after = predicted_regions = with_evidence = in_memory = state_named = 0
    before = ""
    for number in range(1, len(gold) + 1):
        began = time.perf_counter()
        task = studio.ask("GET", f"/api/projects/{project}/next")
        fetching.append(time.perf_counter() - began)
        in_memory += bool(before and server.remembered(before))
        [prediction] = task["predictions"]
        state_named += int(prediction["model_version"].rpartition(".")[2]) == server.edits()
        states.append(prediction["model_version"])
        document = gold[task["data"]["text"]]
        predicted_regions += len(prediction["result"])
        with_evidence += sum(bool(region.get("meta", {}).get("text")) for region in prediction["result"])
        right = entities(regions(document))
        right_before += entities(prediction["result"]) == right
        time.sleep(options.pause)
        began = time.perf_counter()
        annotation = studio.ask("POST", f"/api/tasks/{task['id']}/annotations/", json={"result": regions(document)})
        saving.append(time.perf_counter() - began)
        before = f"label-studio/{project}/{task['id']}/{annotation['id']}"
        [again] = server.annotate([document])
        right_after += set(again.entities) == set(document.entities)
        if number % options.every == 0 or number == len(gold):
            f1[str(number)] = server.f1(held)
            print(f"{number} annotations: F1 {f1[str(number)]:.4f}", flush=True)
    in_memory += bool(server.remembered(before))
    models = {state.rpartition(".")[0] for state in states}
    if options.train_every:
        f1["after the last training"] = f1_after_training(server, held, models)
    return {
        "annotations": len(gold),
        "in_memory_when_the_next_task_came": in_memory,
        "predictions_that_name_the_last_edit": state_named,
        "different_model_versions": len(set(states)),
        "models": len(models),
        "predicted_regions": predicted_regions,
        "predicted_regions_with_evidence": with_evidence,
        "sentences_right_before_annotating": right_before,
        "sentences_right_after": right_after,
        "seconds_to_save": spread(saving),
        "seconds_to_fetch_a_predicted_task": spread(fetching),
        "seconds_from_saving_to_the_next_prediction": spread(
            [save + fetch for save, fetch in zip(saving, fetching[1:], strict=False)]
        ),
        "held_out_f1": f1,
    }


def f1_after_training(server: Server, held: Sequence[Document], models: set[str]) -> float | None:
    """F1 once a model answers that was trained with all annotations; None where none comes."""
    end, asked = time.monotonic() + 1800, False
    while time.monotonic() < end:
        version = server.set_up(config(server.labels))["model_version"].rpartition(".")[0]
        if asked and version not in models:
            return server.f1(held)
        models.add(version)
        if not asked:  # 409 while another training goes on
            asked = server.client.post("/label-studio/train", json={}).is_success
        time.sleep(5)
    return None


def change_and_delete(studio: Studio, server: Server, project: int) -> dict[str, Any]:
    """What becomes of the memory when annotations are changed, deleted and skipped."""
    done: dict[str, Any] = {}
    tasks = studio.ask("GET", "/api/tasks", params={"project": project, "fields": "all", "page_size": 100})["tasks"]
    marked = [task for task in tasks if task["annotations"] and task["annotations"][0]["result"]]
    first, second = (task["annotations"][0]["id"] for task in marked[:2])
    names = [f"label-studio/{project}/{task['id']}/{task['annotations'][0]['id']}" for task in marked[:3]]
    edits = server.edits()
    studio.ask("PATCH", f"/api/annotations/{first}/", json={"result": []})
    done["changed_to_no_entities"] = [each["entities"] for each in server.remembered(names[0])] == [[]]
    studio.ask("PATCH", f"/api/annotations/{first}/", json={"result": []})
    done["edits_of_a_change_and_of_the_same_again"] = server.edits() - edits
    studio.ask("DELETE", f"/api/annotations/{second}/")
    done["forgotten_when_deleted"] = not server.remembered(names[1])
    selected = {"selectedItems": {"all": False, "included": [marked[2]["id"]]}}
    studio.ask("POST", "/api/dm/actions", params={"id": "delete_tasks_annotations", "project": project}, json=selected)
    done["forgotten_when_deleted_in_the_list_of_tasks"] = not server.remembered(names[2])
    skipped = studio.ask(
        "POST", f"/api/tasks/{marked[1]['id']}/annotations/", json={"result": [], "was_cancelled": True}
    )
    done["skipped_not_remembered"] = not server.remembered(f"label-studio/{project}/{marked[1]['id']}/{skipped['id']}")
    return done


def emoji(studio: Studio, server: Server, project: int) -> dict[str, Any]:
    """Offsets behind characters of two UTF-16 units, in both directions."""
    document = nearspan.markup(EMOJI)
    studio.ask("POST", f"/api/projects/{project}/import", json=[{"text": document.text}])
    tasks = studio.ask("GET", "/api/tasks", params={"project": project, "page_size": 200})["tasks"]
    task = next(each["id"] for each in tasks if each["data"]["text"] == document.text)
    annotation = studio.ask("POST", f"/api/tasks/{task}/annotations/", json={"result": regions(document)})
    [sentence] = server.remembered(f"label-studio/{project}/{task}/{annotation['id']}")
    chosen = {"selectedItems": {"all": False, "included": [task]}}
    studio.ask("POST", "/api/dm/actions", params={"id": "retrieve_tasks_predictions", "project": project}, json=chosen)
    predictions = studio.ask("GET", f"/api/tasks/{task}")["predictions"]
    latest = max(predictions, key=lambda each: each["id"])
    return {
        "text": document.text,
        "remembered": [[each["text"], each["label"]] for each in sentence["entities"]],
        "predicted": [[r["value"]["text"], r["value"]["start"], r["value"]["end"]] for r in latest["result"]],
    }


def exports(studio: Studio, project: int, folder: Path) -> dict[str, Any]:
    """Label Studio's own exports of the annotated tasks, read as corpora: do they hold what was saved?"""
    tasks = studio.ask("GET", "/api/tasks", params={"project": project, "fields": "all", "page_size": 200})["tasks"]
    saved = {
        task["data"]["text"]: entities(task["annotations"][0]["result"])
        for task in tasks
        if task["annotations"] and not task["annotations"][0]["was_cancelled"]
    }
    done: dict[str, Any] = {"annotated": len(saved)}
    for kind in ("JSON", "JSON_MIN"):
        export = studio.client.get(f"/api/projects/{project}/export", params={"exportType": kind})
        path = folder / f"export-{kind}.json"
        path.write_bytes(export.raise_for_status().content)
        format, read = nearspan.check(path)["format"], {}
        for document in nearspan.read(path):
            read[document.text] = {(each.start, each.end, each.label) for each in document.entities}
        same = sum(read.get(text) == annotated for text, annotated in saved.items())
        done[kind] = {"format": format, "documents": len(read), "with_the_same_entities": same}
    return done


def choose_sentences(options: argparse.Namespace) -> tuple[dict[str, Document], list[Document]]:
    """Sentences to annotate, with their entities, and those that F1 is measured on; training has seen neither."""
    chance = random.Random(options.seed)
    unseen = nearspan.read(options.train).documents[options.documents :]
    if options.same_documents:
        parts = [part for document in unseen for part in split_sentences(document) if part.entities]
        few = list({part.text: part for part in parts}.values())[: 2 * options.annotations]
        return {part.text: part for part in few[::2]}, few[1::2]
    sentences = {part.text: part for document in unseen for part in split_sentences(document) if part.entities}
    gold = {text: sentences[text] for text in chance.sample(sorted(sentences), options.annotations)}
    of_test = [part for document in nearspan.read(options.test).documents[:-20] for part in split_sentences(document)]
    return gold, chance.sample(of_test, options.held_out)


def prepare_model(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Train the model where its folder is not there; what it was trained on."""
    documents = nearspan.read(options.train).documents[: options.documents]
    if not options.model.exists():
        nearspan.write(documents, scratch / "train.jsonl")
        nearspan.write(nearspan.read(options.test).documents[-20:], scratch / "dev.jsonl")
        command = [sys.executable, "-m", "nearspan", "train", "start", "--minutes", str(options.minutes)]
        command += ["--seed", str(options.seed), "--train", str(scratch / "train.jsonl")]
        command += ["--dev", str(scratch / "dev.jsonl")]
        subprocess.run([*command, "--out", str(options.model)], check=True)
    result = json.loads((options.model / "result.json").read_text())
    kept = {key: result[key] for key in ("best_epoch", "seconds", "hardware", "torch")}
    kept["command"] = without_folders(result["command"])
    sentences = sum(len(document.sentences or ()) for document in documents)
    return {**kept, "documents": len(documents), "sentences": sentences, "dev_f1": result["dev"]["f1"]}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train", type=Path)
    arguments.add_argument("test", type=Path)
    arguments.add_argument("--label-studio", type=Path, required=True)
    arguments.add_argument("--model", type=Path, required=True)
    arguments.add_argument("--documents", type=int, default=30)
    arguments.add_argument("--minutes", type=int, default=20, help="of training, at most")
    arguments.add_argument("--train-every", type=int, default=0)
    arguments.add_argument("--pause", type=float, default=0.0, help="seconds that the annotator takes for a task")
    arguments.add_argument("--annotations", type=int, default=50)
    arguments.add_argument("--every", type=int, default=10)
    arguments.add_argument("--held-out", type=int, default=300)
    arguments.add_argument(
        "--same-documents", action="store_true", help="annotate every other sentence, F1 on the rest"
    )
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        trained = prepare_model(options, scratch)
        gold, held = choose_sentences(options)
        shutil.copytree(options.model, scratch / "model", ignore=shutil.ignore_patterns("checkpoint*"))
        record = run(scratch, gold, held, options)
    version = subprocess.run(
        [options.label_studio.parent / "pip", "show", "label-studio"], capture_output=True, text=True
    )
    record |= {
        "label_studio": re.search(r"Version: (\S+)", version.stdout)[1],
        "command": without_folders(sys.argv),
        "commit": current_commit(),
        "seed": options.seed,
        "train_every": options.train_every,
        "pause": options.pause,
        "model": trained,
        "held_out_sentences": len(held),
        "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(),
    }
    earlier = json.loads(options.out.read_text()) if options.out.exists() else []
    options.out.write_text(json.dumps([*earlier, record], indent=1, ensure_ascii=False) + "\n")


def run(
    scratch: Path, gold: dict[str, Document], held: Sequence[Document], options: argparse.Namespace
) -> dict[str, Any]:
    """Start both, and let the annotator work."""
    port, token, key = free_port(), secrets.token_urlsafe(12), secrets.token_hex(20)
    serve = [sys.executable, "-m", "nearspan", "serve", str(scratch / "model"), "--port", "0", "--device", "cpu"]
    serve += ["--train-every", str(options.train_every)]
    start = [str(options.label_studio), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    start += ["--username", "annotator@example.org", "--password", secrets.token_urlsafe(12), "--user-token", key]
    logs = scratch / "serve.log", scratch / "studio.log"
    data = {**OPEN, "LABEL_STUDIO_BASE_DATA_DIR": str(scratch / "studio"), "OMP_NUM_THREADS": "1"}
    with (
        process([*serve, "--label-studio"], {"NEARSPAN_TOKEN": token}, logs[0]),
        process(start, data, logs[1]),
    ):
        address = wait_for("nearspan", logs[0], 900, r"http://127\.0\.0\.1:\d+/")[0]
        server, studio = Server(address, token), Studio(port, key)
        studio.wait(900)
        labels = server.labels
        project = studio.ask("POST", "/api/projects", json={"title": "CoNLL-2003", "label_config": config(labels)})[
            "id"
        ]
        studio.ask("POST", f"/api/projects/{project}/import", json=[{"text": text} for text in gold])
        backend = address.replace("//", f"//nearspan:{token}@") + "label-studio"
        body = {"url": backend, "project": project, "title": "nearspan"}
        connected = studio.ask("POST", "/api/ml", json=body)
        settings = {"model_version": "nearspan", "show_collab_predictions": True}
        studio.ask("PATCH", f"/api/projects/{project}", json=settings)
        began = time.perf_counter()
        record = {"state": connected["readable_state"], **annotate(studio, server, project, gold, held, options)}
        record["seconds_of_all"] = round(time.perf_counter() - began, 1)
        record["exports"] = exports(studio, project, scratch)
        record |= {"afterwards": change_and_delete(studio, server, project), "emoji": emoji(studio, server, project)}
        record["exports_afterwards"] = exports(studio, project, scratch)
        direct = []
        task = {"id": 1, "data": {"text": next(iter(gold))}}
        for _ in range(20):
            began = time.perf_counter()
            server.client.post("/label-studio/predict", json={"tasks": [task], "label_config": config(labels)})
            direct.append(time.perf_counter() - began)
        record["seconds_of_predict_alone"] = spread(direct)
        record["annotations_with_a_warning"] = len(set(re.findall(r"Label Studio, task (\d+):", logs[0].read_text())))
        return record


if __name__ == "__main__":
    main()
