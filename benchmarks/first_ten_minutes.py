"""What ten minutes of one core give: `start` beside Hugging Face token classification and spaCy's blank pipelines.

    OMP_NUM_THREADS=1 python benchmarks/first_ten_minutes.py ncbi-disease DATA --out results.jsonl
    OMP_NUM_THREADS=1 python benchmarks/first_ten_minutes.py genia DATA --systems spacy-spancat --out results.jsonl

DATA holds the corpora unpacked, as for `corpora.py`. Each system gets the training and development sentences and the
same processor time (`--minutes`), imports and scoring of development data included, and its model is scored once on the
test data (`--split dev`: on the development data; `both`: on each) by `nearspan.score`: an entity counts where its
characters and its label are right, nested and discontinuous ones too; the latter are also counted apart. Systems that
tag words learn the outermost contiguous entities. `--encoder` is the name of a packaged encoder or a folder.

- `nearspan`: the recipe `start`, all settings as they are; its clock is processor time. The record has the time that it
  announced beside the time that training took.
- `huggingface`: the same encoder, all layers fine-tuned, a linear layer over the first piece of each word, BIO tags,
  AdamW; the rate falls linearly to 0 with the time. `--rate` is its peak.
- `spacy-ner`, `spacy-spancat`: blank pipelines, the best model on the development data. spancat's spans are as wide as
  all but 1% of the training entities, 10 words at most. They need spaCy, which may live in an environment of its own:
  reading and scoring a corpus takes neither torch nor transformers.

`--sentences N` takes the first N training sentences, for a trial. `--keep FOLDER` keeps the model of `nearspan` there.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nearspan.document import Document, Entity, Span
from nearspan.evaluation.matching import score, score_by
from nearspan.formats import read
from nearspan.segment import Sentence, split

CORPORA = {
    "ncbi-disease": [f"ncbi-disease/conll/{split}.tsv" for split in ("train", "devel", "test")],
    "conll2003": [f"conll2003/eng.{split}" for split in ("train", "testa", "testb")],
    "genia": [f"genia/w2ner/{split}.json" for split in ("train", "dev", "test")],
    "litbank": [f"litbank/{split}.data" for split in ("train", "dev", "test")],
    "germeval2014": [f"germeval2014/GermEval2014/germ.{split}.iob2" for split in ("train", "dev", "test")],
    "cadec": [f"cadec/w2ner_json/{split}.json" for split in ("train", "dev", "test")],
    "sample": [f"sample/{split}.jsonl" for split in ("train", "dev", "test")],
}
LANGUAGES = {"germeval2014": "de"}
Documents = Sequence[Document]
Annotate = Callable[[Documents], list[Document]]  # documents without entities to documents with them


class Clock:
    """Processor time that is left."""

    def __init__(self, minutes: float) -> None:
        self.began, self.seconds = time.process_time(), 60 * minutes

    @property
    def spent(self) -> float:
        return time.process_time() - self.began

    @property
    def done(self) -> float:
        """The share that is spent."""
        return self.spent / self.seconds


def one_by_one(documents: Documents, most: int = 0) -> list[Document]:
    """The first sentences as documents of their own, with the entities that lie within each."""
    chosen: list[Document] = []
    for document in documents:
        entities = sorted(document.entities, key=lambda entity: entity.start)
        starts = [entity.start for entity in entities]
        for sentence in split(document):
            first, stop = (bisect_left(starts, place) for place in (sentence.start, sentence.end))
            chosen.append(_of_sentence(sentence, entities[first:stop]))
    return chosen[: most or None]


def _of_sentence(sentence: Sentence, candidates: Sequence[Entity]) -> Document:
    start, end = sentence.start, sentence.end
    words = tuple((first - start, stop - start) for first, stop in sentence.words)
    entities = tuple(
        Entity(Span(tuple((first - start, stop - start) for first, stop in entity.span.fragments)), entity.label)
        for entity in candidates
        if entity.end <= end
    )
    return Document(sentence.text, entities, "", words, ((0, end - start),))


def outermost(document: Document) -> list[Entity]:
    """Contiguous entities that lie in no other, as a tagger can learn them."""
    chosen: list[Entity] = []
    contiguous = (entity for entity in document.entities if not entity.span.discontinuous)
    for entity in sorted(contiguous, key=lambda entity: (entity.start - entity.end, entity.start)):
        if all(entity.end <= other.start or other.end <= entity.start for other in chosen):
            chosen.append(entity)
    return chosen


def train_nearspan(name: str, train: Documents, dev: Documents, clock: Clock, options: Any) -> Annotate:
    """The recipe `start`; its budget is counted by the processor's clock."""
    del name
    import nearspan
    from nearspan.training import TrainingCallback

    class Announcement(TrainingCallback):
        """The seconds that training says it will take."""

        seconds = 0.0

        def on_plan(self, settings: Any, seconds: float) -> None:
            del settings
            self.seconds = seconds

    time.perf_counter = time.process_time  # what the budget is measured by
    folder = options.keep or Path(tempfile.mkdtemp()) / "model"
    recipe = nearspan.recipe("start").override([f"encoder.transformer.name={options.encoder}", *(options.set or [])])
    announcement, spent = Announcement(), clock.spent
    run = nearspan.train(
        recipe,
        train,
        dev,
        out=folder,
        device="cpu",
        minutes=(clock.seconds - spent) / 60,
        seed=options.seed,
        callbacks=[announcement],
    )
    options.notes |= {
        "announced_seconds": round(announcement.seconds, 1),
        "training_seconds": round(clock.spent - spent, 1),
        "epochs": run.epochs,
        "best_epoch": run.best_epoch,
        "dev_f1": round(run.dev.scores.f1, 4),
    }
    if options.keep is None:
        shutil.rmtree(folder.parent)
    return lambda documents: list(run.model.pipe(documents))


def train_huggingface(name: str, train: Documents, dev: Documents, clock: Clock, options: Any) -> Annotate:
    """Token classification with all weights fine-tuned until the time is spent."""
    del name, dev
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from nearspan.encoders.packaged import encoder_source

    torch.manual_seed(options.seed)
    source = encoder_source(options.encoder)
    tokenizer = AutoTokenizer.from_pretrained(source)
    labels = sorted({entity.label for document in train for entity in outermost(document)})
    tags = ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
    model = AutoModelForTokenClassification.from_pretrained(source, num_labels=len(tags))
    model.float().requires_grad_(True).train()  # a checkpoint may be in half precision
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)

    def encode(documents: Documents) -> Any:
        words = [[document.text[start:end] for start, end in document.words] for document in documents]
        return tokenizer(
            words, is_split_into_words=True, truncation=True, max_length=256, padding=True, return_tensors="pt"
        )

    def first_pieces(encoding: Any, row: int) -> Iterator[tuple[int, int]]:
        seen = set()
        for position, word in enumerate(encoding.word_ids(row)):
            if word is not None and word not in seen:
                seen.add(word)
                yield position, word

    chance, steps = random.Random(options.seed), 0
    sizes = [len(document.words) for document in train]
    while clock.done < 1:
        order = sorted(range(len(train)), key=lambda i: (sizes[i], chance.random()))
        batches = [order[i : i + options.batch] for i in range(0, len(order), options.batch)]
        chance.shuffle(batches)
        for batch in batches:
            if clock.done >= 1:
                break
            documents = [train[i] for i in batch]
            encoding = encode(documents)
            gold = torch.full(encoding["input_ids"].shape, -100)
            for row, document in enumerate(documents):
                of_word = dict.fromkeys(range(len(document.words)), 0)
                for entity in outermost(document):
                    inside = [i for i, (a, b) in enumerate(document.words) if entity.start <= a and b <= entity.end]
                    for place, word in enumerate(inside):
                        of_word[word] = 1 + 2 * labels.index(entity.label) + (place > 0)
                for position, word in first_pieces(encoding, row):
                    gold[row, position] = of_word[word]
            for group in optimizer.param_groups:
                group["lr"] = options.rate * min(1.0, clock.done / 0.05) * max(0.0, 1 - clock.done)
            loss = model(**encoding, labels=gold).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps += 1
    options.notes |= {"epochs": round(steps / len(batches), 2)}
    model.eval()

    @torch.no_grad()
    def annotate(documents: Documents) -> list[Document]:
        annotated = []
        for start in range(0, len(documents), 32):
            some = documents[start : start + 32]
            encoding = encode(some)
            best = model(**encoding).logits.argmax(-1)
            for row, document in enumerate(some):
                tagged = {word: tags[int(best[row, position])] for position, word in first_pieces(encoding, row)}
                annotated.append(document.with_entities(_entities(document, tagged)))
        return annotated

    return annotate


def _entities(document: Document, tagged: dict[int, str]) -> Iterator[Entity]:
    """The entities of BIO tags by word; an I that follows nothing of its label begins one."""
    first, label = 0, ""
    for word in range(len(document.words) + 1):
        tag = tagged.get(word, "O") if word < len(document.words) else "O"
        if label and tag != f"I-{label}":
            yield Entity.of(document.words[first][0], document.words[word - 1][1], label)
            label = ""
        if not label and tag != "O":
            first, label = word, tag[2:]


def train_spacy(name: str, train: Documents, dev: Documents, clock: Clock, options: Any) -> Annotate:
    """A blank pipeline with one component; the weights with the best development F1 are kept."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.util import minibatch

    kind = options.system.partition("-")[2]
    nlp = spacy.blank(LANGUAGES.get(name, "en"))
    component = nlp.add_pipe(kind, config=_span_widths(train) if kind == "spancat" else {})

    def plain(document: Document) -> Any:
        ends = {end: start for start, end in document.words}
        starts = {start for start, _ in document.words}
        spaces = [end not in starts for end in ends]
        return Doc(nlp.vocab, [document.text[start:end] for start, end in document.words], spaces)

    def example(document: Document) -> Any:
        doc, gold = plain(document), plain(document)
        first = {start: i for i, (start, _) in enumerate(document.words)}
        stop = {end: i + 1 for i, (_, end) in enumerate(document.words)}
        wanted = outermost(document) if kind == "ner" else document.entities
        spans = [
            spacy.tokens.Span(gold, first[entity.start], stop[entity.end], entity.label)
            for entity in wanted
            if not entity.span.discontinuous and entity.start in first and entity.end in stop
        ]
        if kind == "ner":
            gold.ents = spans
        else:
            gold.spans["sc"] = spans
        return Example(doc, gold)

    examples = [example(document) for document in train]
    optimizer = nlp.initialize(lambda: examples)

    def annotate(documents: Documents) -> list[Document]:
        annotated = []
        for document, doc in zip(documents, component.pipe(map(plain, documents), batch_size=64), strict=True):
            spans = doc.ents if kind == "ner" else doc.spans["sc"]
            words = document.words
            entities = {Entity.of(words[span.start][0], words[span.end - 1][1], span.label_) for span in spans}
            annotated.append(document.with_entities(sorted(entities)))
        return annotated

    chance, best, epochs, kept, scoring = random.Random(options.seed), -1.0, 0, nlp.to_bytes(), 0.0
    while clock.spent + scoring < clock.seconds:
        chance.shuffle(examples)
        for batch in minibatch(examples, options.batch):
            if clock.spent + scoring >= clock.seconds:
                break
            nlp.update(batch, sgd=optimizer, drop=0.1)
        before = clock.spent
        f1 = score(dev, annotate([document.with_entities(()) for document in dev])).f1
        scoring, epochs = clock.spent - before, epochs + 1
        if f1 > best:
            best, kept = f1, nlp.to_bytes()
    nlp.from_bytes(kept)
    options.notes |= {"epochs": epochs, "dev_f1": round(best, 4)}
    return annotate


def _span_widths(train: Documents) -> dict[str, Any]:
    """Settings for spancat: spans as wide as all but 1% of the contiguous entities, 10 words at most."""
    widths = sorted(
        sum(entity.start <= start and end <= entity.end for start, end in document.words)
        for document in train
        for entity in document.entities
        if not entity.span.discontinuous
    )
    widest = min(10, widths[int(0.99 * (len(widths) - 1))])
    return {"suggester": {"@misc": "spacy.ngram_range_suggester.v1", "min_size": 1, "max_size": widest}}


SYSTEMS = {
    "nearspan": train_nearspan,
    "huggingface": train_huggingface,
    "spacy-ner": train_spacy,
    "spacy-spancat": train_spacy,
}


def measure(gold: Documents, annotate: Annotate) -> dict[str, Any]:
    """Scores on documents, and those of the discontinuous entities apart."""
    predicted = annotate([document.with_entities(()) for document in gold])
    scores = {"all": score(gold, predicted)}
    scores |= score_by(gold, predicted, lambda _: lambda entity: ["", "discontinuous"][entity.span.discontinuous])
    return {
        name: {key: round(value, 4) for key, value in scores[name].total.to_dict().items()}
        for name in ("all", "discontinuous")
        if name in scores
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("data", type=Path)
    parser.add_argument("--systems", default="nearspan,huggingface")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sentences", type=int, default=0)
    parser.add_argument("--split", choices=("dev", "test", "both"), default="test")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    splits = [read(options.data / file).documents for file in CORPORA[options.corpus]]
    train = one_by_one(splits[0], options.sentences)
    dev, test = (one_by_one(documents) for documents in splits[1:])
    gold = {name: documents for name, documents in (("dev", dev), ("test", test)) if options.split in (name, "both")}
    for system in options.systems.split(","):
        options.system, options.notes = system, {}
        clock, wall = Clock(options.minutes), time.time()
        annotate = SYSTEMS[system](options.corpus, train, dev, clock, options)
        trained, wall = clock.spent, time.time() - wall
        record = {
            "corpus": options.corpus,
            "system": system,
            "sentences": len(train),
            "minutes": options.minutes,
            "seed": options.seed,
            "processor_seconds": round(trained, 1),
            "wall_seconds": round(wall, 1),
            **options.notes,
            **{name: measure(documents, annotate) for name, documents in gold.items()},
        }
        print(json.dumps(record), flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
