"""What the demo's model says: of the sentences that we show people, all right; of plain ones like them, nearly all."""

import json
import re
from pathlib import Path

import pytest

import nearspan
from nearspan.cli import demo
from nearspan.encoders.packaged import is_installed

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(
    r"(?:explain|annotate) runs/(?:demo|first) \\?\s*'([^']+)'|echo '([^']+)' \| nearspan annotate runs/first"
)
ASKED = re.compile(r'model\("([^"]+)"\)')  # where a page trains the demo's recipe on the sample


def read_list(name: str) -> list[nearspan.Document]:
    lines = (ROOT / "benchmarks" / f"{name}_sentences.txt").read_text(encoding="utf-8").splitlines()
    return [nearspan.markup(line) for line in lines]


def test_what_is_shown_is_on_the_list():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    shown = {next(filter(None, found)) for text in texts.values() for found in SHOWN.findall(text)}
    shown |= {
        found for page in (pages[0], ROOT / "docs/guide/getting-started.md") for found in ASKED.findall(texts[page])
    }
    advice = re.findall(r"explain \{folder\} '([^']+)'", Path(demo.__file__).read_text(encoding="utf-8"))
    shown |= {demo.QUESTION, *advice}
    listed = "\n".join(document.text for document in read_list("shown"))
    assert len(shown) > 4
    assert [sentence for sentence in sorted(shown) if sentence not in listed] == []


@pytest.mark.skipif(
    not is_installed("minilm"), reason="the demo of `nearspan[encoder]` is tested where that is installed"
)
def test_the_demo_is_right_about_what_it_is_asked(nearspan_command, tmp_path: Path):
    ran = nearspan_command("-q", "demo", "--out", tmp_path / "demo")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "demo" / "result.json").read_text())["test"]["f1"] >= 0.92
    model = nearspan.load(tmp_path / "demo", device="cpu")
    shown, plain = read_list("shown"), read_list("plain")
    for gold, predicted in zip(shown, model.pipe([document.text for document in shown]), strict=True):
        assert set(predicted.entities) == set(gold.entities), gold.text
    assert len(plain) >= 100
    scores = nearspan.evaluate(model, plain).scores
    assert min(scores.precision, scores.recall) >= 0.9
