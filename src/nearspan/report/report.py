"""The report: a model's scores, confusions and errors on a corpus, as one page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from nearspan.errors import ConfigError, NearspanError
from nearspan.formats import Corpus, Documents, as_documents
from nearspan.io.atomic import write_file
from nearspan.io.outputs import check_outputs, is_own_page
from nearspan.model import Model
from nearspan.report.papers import PaperResults, analyse, check_curves, papers_page
from nearspan.report.papers.curves import (
    SIZES,
    Trainings,
    name_encoder,
    occurrence_curve,
    size_curve,
    with_word_memory,
)
from nearspan.report.papers.figures import load_matplotlib
from nearspan.report.progress import say
from nearspan.report.results import Results
from nearspan.report.scored_model import ScoredModel, name_models

PAGE, NUMBERS = "report.html", "report.json"
PAPERS_PAGE, PAPERS_NUMBERS = "papers.html", "papers.json"


@dataclass(frozen=True)
class Report:
    """What was found and the files it was written to."""

    results: Results
    page: Path
    numbers: Path
    papers: PaperResults | None = None  # written to papers.html and papers.json beside the page


def report(
    model: Model | Path | str,
    documents: Documents,
    *,
    out: Path | str,
    corpus: str = "",
    compare: Model | Path | str | None = None,
    papers: bool = False,
    train: Documents = (),
    dev: Documents = (),
    sizes: Sequence[Fraction] | None = None,
    occurrences: Sequence[int] = (),
    seeds: int = 1,
    encoder: str = "",
    force: bool = False,
    device: str = "",
    console: Console | None = None,
) -> Report:
    """Examine a model on gold documents and write `out/report.html` and `out/report.json`.

    The page has scores, a confusion matrix and every error with its evidence. `corpus` is the name that it gives the
    documents, by default those of their files. With `compare` a second model stands beside the first. An earlier report
    is replaced, other files of these names only with `force`.

        report("runs/instance", "test.jsonl", out="report", compare="runs/classifier")

    With `papers` the tables and figures of the papers are written to `out/papers.html` and `out/papers.json`. What
    follows is for their curves: the recipes are trained on shares (`sizes`) of `train` and scored on `dev`; with
    `occurrences`, recipes that recall training words are trained with at most so many of each word. `encoder` is the
    pretrained encoder, a folder or a hub id, for recipes that have one. A curve that was stopped goes on when it is
    called again.
    """
    gold, train, dev = as_documents(documents), as_documents(train), as_documents(dev)
    if not gold:
        raise ConfigError("there are no documents to report on")
    check_curves(papers, bool(train), bool(dev), sizes, occurrences)
    if papers:
        load_matplotlib()  # an error now rather than after the scoring
    folder = Path(out)
    check_files(folder, papers, [place.path for source in (gold, train, dev) for place in source.places], force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearspanError(f"cannot make the folder {folder}: {error}") from error
    models = [
        (None, source) if isinstance(source, Model) else (Path(source), Model.load(source, device))
        for source in ([model] if compare is None else [model, compare])
    ]
    if len({loaded.classifies_given_spans for _, loaded in models}) > 1:
        raise ConfigError("one model classifies given spans and the other finds entities: they cannot be compared")
    if train and models[0][1].classifies_given_spans:
        raise ConfigError("curves are of models that find entities, and this model classifies given spans")
    named = dict(zip(name_models(models), models, strict=True))
    recipes = {name: loaded.recipe for name, (_, loaded) in named.items()}
    if train or encoder:
        recipes = name_encoder(recipes, encoder)
    recalling = with_word_memory(recipes) if occurrences else {}
    say(console, "scoring")
    scored = [ScoredModel.of(name, loaded, gold, path) for name, (path, loaded) in named.items()]
    results, paper_results = Results.of(scored, gold, corpus or _file_names(gold)), None
    if papers:
        paper_results = analyse(scored, gold, console)
        if train:
            trainings = Trainings(dev, folder, device, console, seeds)
            curve = size_curve(recipes, train, trainings, SIZES if sizes is None else sizes)
            recalled = occurrence_curve(recalling, train, trainings, occurrences)
            paper_results = replace(paper_results, sizes=curve, occurrences=recalled)
        write_file(folder / PAPERS_NUMBERS, [json.dumps(paper_results.to_dict(), indent=1), "\n"])
        write_file(folder / PAPERS_PAGE, [papers_page(paper_results, results.title, results.labels)])
    write_file(folder / NUMBERS, [json.dumps(results.to_dict(), indent=1), "\n"])
    write_file(folder / PAGE, [results.page(papers)])
    return Report(results, folder / PAGE, folder / NUMBERS, paper_results)


def check_files(folder: Path, papers: bool, sources: Sequence[Path | str], force: bool) -> None:
    """Refuse to write a report over what is none, or over the `sources` of its documents."""
    files = [PAGE, NUMBERS, *([PAPERS_PAGE, PAPERS_NUMBERS] if papers else [])]
    is_report = any(is_own_page(folder / page) for page in (PAGE, PAPERS_PAGE))
    check_outputs([folder / name for name in files], sources, force=force or is_report)


def _file_names(corpus: Corpus) -> str:
    """The names of the files that documents were read from, where that is known."""
    names = list(dict.fromkeys(Path(place.path).name for place in corpus.places))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
