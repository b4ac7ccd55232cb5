"""The model card's example says why, whatever the model does."""

import nearspan


def run_example(folder, text: str, instead: str, capsys) -> str:
    """Run the card's code for a text; what it prints."""
    code = (folder / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert text in code
    capsys.readouterr()
    exec(code.replace("path/to/this/folder", str(folder)).replace(text, instead), {})
    return capsys.readouterr().out


def test_entities_found_have_neighbours(folders, capsys):
    assert "Ada PERSON {'PERSON': [Neighbour(" in run_example(folders["instance"], "Some text.", "Ada lives", capsys)


def test_a_model_for_given_spans_is_given_one(tiny, documents, tmp_path, capsys):
    nearspan.train(tiny("classifier", "suggester.kind=given"), documents, out=tmp_path / "m", device="cpu")
    printed = run_example(tmp_path / "m", "[Some](LABEL) text.", "[Ada](LABEL) lives", capsys)
    assert printed.startswith("Ada P")
    assert "Neighbour(" in printed


def test_where_words_are_recalled_these_are_shown(tiny, documents, tmp_path, capsys):
    settings = (
        "encoder.sentence_context.size=3",
        "head.dropout=0.0",
        "training.epochs=15",
        "training.learning_rate=0.5",
    )
    nearspan.train(tiny("hire", *settings), documents, out=tmp_path / "m", device="cpu")
    printed = run_example(tmp_path / "m", "Some text.", "Ada lives", capsys)
    assert printed.startswith("Ada PERSON [RecalledWord(text='Ada'")
