"""The editor of a model's memory: read it, correct it, add to it, take from it, undo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

from nearspan.document import IDENTIFIER, Document, Entity, Span, count_of, given_identifier
from nearspan.errors import AnsweredError, EditError
from nearspan.formats import Documents, as_documents
from nearspan.formats.markup import parse as parse_markup
from nearspan.heads import Query
from nearspan.knn import Datastore, MemorySentence
from nearspan.knn.assemble import concatenate, weigh
from nearspan.knn.storage import NO_MEMORY
from nearspan.memory import receipts
from nearspan.memory.build import build, check_label_set, check_labels, erase_forgotten_words, rebuild, replace_memory
from nearspan.memory.edits import Edit, Kind, standing_edits, word_runs, write_document
from nearspan.memory.lock import PATIENCE, lock_memory
from nearspan.memory.preview import Preview, compare_documents, compare_memory
from nearspan.memory.reweight import Target, Weight, check_weight, reweight
from nearspan.memory.sentences import SentenceView, as_document, matching
from nearspan.memory.sync import MemorySync
from nearspan.model import Model
from nearspan.model.folder import save_calibration
from nearspan.model.span_vectors import corpus_vectors, memory_sentences
from nearspan.model.vote import fit_vote, is_due
from nearspan.segment import Coverage, Fragments
from nearspan.spans import LabelledSentences

LINKED = "fragments are linked without the memory, so predictions stay as they are"
WIDE = "the memory holds no spans wider than suggester.max_width, so predictions stay as they are"
WITHOUT_MEMORY = "this model predicts without its memory, so its predictions stay as they are until it is interpolated"


class Editor:
    """The memory of a model, to be read and edited. `model.memory` opens it.

    Each edit is one line in the folder's journal, on disk for good before the method returns. Any number of processes
    may edit and read a folder: an edit is made on top of what others have done before it, and `refresh` takes up what
    they have done since. The methods may be called from several threads.

        model = nearspan.load("runs/mine")
        model.memory.add("[Vienna](PLACE) is cold")
        model("Vienna is cold")
        model.memory.undo()
    """

    def __init__(self, folder: Path, model: Model, patience: float = PATIENCE) -> None:
        if model.classifies_given_spans:
            raise EditError(
                "this model classifies spans that are given, and its memory holds these alone. Editing and serving are "
                "for models that find entities: train the recipe with suggester.kind=all"
            )
        self.folder = folder
        self.model = model
        self._sync = MemorySync(folder, model)
        self._patience = patience
        self._mutex = RLock()
        self._sync.reload()

    @classmethod
    def open(cls, path: Path | str, device: str = "", patience: float = PATIENCE) -> Editor:
        """The memory of the model in a folder; an edit waits `patience` seconds for another editor."""
        model = Model.load(path, device, memory=False)
        model._editor = cls(Path(path), model, patience)
        return model._editor

    def __repr__(self) -> str:
        sentences, edits = len(self._sync.revision.sentences), len(standing_edits(self._sync.edits))
        return f"Editor({self.folder}, {sentences:,} sentences, {edits} edits)"

    def __getstate__(self) -> dict[str, Any]:
        """What another process of this program needs; the lock stays here."""
        return {name: value for name, value in self.__dict__.items() if name != "_mutex"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _mutex=RLock())

    def __len__(self) -> int:
        return len(self._sync.revision.sentences)

    def refresh(self) -> bool:
        """Take up what other processes have done to the memory since; whether there was anything."""
        if self._sync.state() == self._sync.known_state:
            return False
        with self._mutex:
            return self._sync.reload()

    def sentences(
        self, text: str = "", label: str = "", document: str = "", limit: int = 20, offset: int = 0
    ) -> list[SentenceView]:
        """Sentences of the memory in order of their ids: all, or those with a text, a label or from a document."""
        matches = matching(self._sync.revision.sentences, text, label, document)
        page = islice(matches, min(offset, sys.maxsize), min(offset + limit, sys.maxsize))
        return [SentenceView.of(number, sentence) for number, sentence in page]

    def sentence(self, sentence: int) -> SentenceView:
        """One sentence of the memory by its id."""
        return SentenceView.of(sentence, self._sentence(sentence))

    def copies(self, text: str) -> list[SentenceView]:
        """The sentences of the memory that read exactly so, in the words that the model reads."""
        words = [sentence.words for sentence in self.model.split(Document(text, sentences=((0, len(text)),)))]
        return [
            SentenceView.of(number, sentence)
            for number, sentence in matching(self._sync.revision.sentences, text)
            if sentence.text == text and [sentence.words] == words
        ]

    def holds(self, sentence: int, span: Span) -> bool:
        """Whether a span is a run of whole words of a remembered sentence, or made of such runs."""
        try:
            word_runs(self._sentence(sentence), sentence, span)
        except EditError:
            return False
        return True

    def check(
        self, documents: Iterable[Document], weight: Weight = "enough", *, new_labels: bool = True
    ) -> list[LabelledSentences]:
        """Refuse what `add` would refuse of any of these documents, before the first of them is added.

        What the memory would hold of each is returned.
        """
        if weight != "enough":
            check_weight(weight)
        network, labelled = self.model.network, []
        for document in documents:
            check_labels(self.model, (entity.label for entity in document.entities), new_labels)
            said = (text for each in document.entities for text in (each.label, given_identifier(each)))
            _refuse_surrogates(document.text, document.id, *said)
            labelled.append(network.suggester.label_sentences([document], self.model.split, network.rules))
            if not labelled[-1].sentences:
                raise EditError("the document holds no words, so there is nothing to add")
        return labelled

    def add(
        self,
        document: Document | str,
        weight: Weight = "enough",
        *,
        entity_weight: float = 1.0,
        new_labels: bool = True,
        review: Mapping[str, Any] | None = None,
    ) -> Edit:
        """Remember all sentences of a document, or of a text with its entities in markup.

            model.memory.add("[Aspirin](DRUG) helped")

        A label that the model does not know is one of its labels from now on, unless `new_labels` is false.
        The spans that the model would misread count as often as it takes for each sentence to be read as it is
        annotated here. Where no weight is enough the sentence counts once, and the receipt says so. Entities that the
        memory has no part in, discontinuous ones and those out of reach, are not looked at.
        With a number for `weight` each sentence counts as so many copies instead. Its entities count `entity_weight`
        times as often: what is no entity is by far the larger part of a sentence, and copies of it would drown them.
        `review` is for answers of a `Review`: the reviewer, and whether it was accepted. There is one to a text, so it
        is refused where the memory holds the text.
        """
        document = parse_markup(document) if isinstance(document, str) else document
        with self._editing() as (number, datastore):
            if review is not None:
                self._refuse_second_answer(document.text)
            model, network, before = self.model, self.model.network, self._sync.revision
            document = replace(document, id=document.id or f"added-{number}")
            check_weight(entity_weight)
            if weight == "enough" and entity_weight != 1:
                raise EditError("`entity_weight` is beside a number: give `weight` too, such as 1")
            [labelled] = self.check([document], weight, new_labels=new_labels)
            corpus, finds_weights = network.encode(labelled.sentences), weight == "enough" and network.datastore_weight
            batches = corpus.reading_batches() if finds_weights else ()
            queries = [Query(network, batch) for batch in batches]  # what the encoder makes of them serves both ends
            vectors = corpus_vectors(network, corpus, queries)
            sentences, content = memory_sentences(labelled), write_document(document, model.split(document))
            ids = range(before.next_id, before.next_id + len(sentences))
            receipt = [receipts.sentence_line(*row) for row in zip(ids, sentences, strict=True)]
            missed = labelled.coverage.unreachable.items()
            receipt += [f"{count:,} not remembered: {reason}" for reason, count in missed if count]
            change: dict[str, Any] = {"document": content, "first": ids.start, "count": len(ids)}
            change |= {"review": dict(review)} if review is not None else {}
            once = Datastore.of(sentences, datastore.own_names, network.suggester, *vectors, ids)
            trial = self._with_vote(concatenate([datastore, once]), change)
            if finds_weights:
                labels = [{gold.label for gold in sentence.entities} for sentence in sentences]
                aside = [i for i, names in enumerate(labels) if self._has_learned(names)]
                target = Target(labelled.sentences, queries, [[each] for each in ids], aside)
                outcomes = reweight(model, trial, target)
                change |= {
                    "weights": [outcome.weight for outcome in outcomes],
                    "span_weights": [outcome.span_weights for outcome in outcomes],
                    "carried": [outcome.carried for outcome in outcomes],
                }
                note, misread = receipts.weights_found(target.ids, outcomes)
                receipt += misread
                weights = zip(sentences, outcomes, strict=True)
                sentences = [
                    replace(sentence, weight=each.weight, span_weights=each.span_weights, carried=each.carried)
                    for sentence, each in weights
                ]
            else:
                note = self._weight_note(weight, entity_weight)
                if weight != "enough":
                    change |= {"weight": weight, "entity_weight": entity_weight}
                    sentences = [
                        replace(sentence, weight=float(weight), entity_weight=float(entity_weight))
                        for sentence in sentences
                    ]
            grown = weigh(trial, dict(zip(ids, sentences, strict=True)), network.suggester)
            revision = replace(
                before,
                sentences=before.sentences | dict(zip(ids, sentences, strict=True)),
                added=before.added | {ids.start: (content, len(ids))},
                next_id=ids.stop,
                vote=trial.vote,
            )
            summary = (
                f"add {count_of(len(ids), 'sentence', 'sentences')} of {document.id!r} ({labelled.coverage}){note}"
            )
            return self._sync.make("add", summary, change, receipt, revision, grown)

    def relabel(
        self,
        sentence: int | Sequence[int],
        span: Span,
        label: str,
        weight: Weight = "enough",
        *,
        identifier: str = "",
        new_labels: bool = True,
    ) -> Edit:
        """Give a span of a remembered sentence this label and no other; `""` makes it no entity.

            model.memory.relabel(12, Span.of(0, 7), "DRUG", identifier="D001241")

        It gets an `identifier` where one is given, and keeps the one that it had with this label otherwise.
        A span that was no entity, or was removed, becomes one. `span` is in the sentence's own text. Where the memory
        has the same sentence several times, all of them can be given. They count from now on as in `add`. A
        discontinuous entity is evidence alone: no edit changes what the model predicts of it.
        """
        if weight != "enough":
            check_weight(weight)
        _refuse_surrogates(label, identifier)
        if identifier and not (given := Entity(span, label, attributes={IDENTIFIER: identifier}).identifier):
            raise EditError(f"{identifier!r} is no identifier: files write so that there is none")
        identifier = given if identifier else ""
        with self._editing():
            check_labels(self.model, [label], new_labels)
            ids = [sentence] if isinstance(sentence, int) else list(sentence)
            if not ids:
                raise EditError("give at least one sentence to relabel")
            texts = {(remembered.text, remembered.words) for remembered in map(self._sentence, ids)}
            if weight == "enough" and len(texts) > 1:
                raise EditError("these sentences do not read the same, word by word: relabel them one by one")
            before = [self._labels(each, span) for each in ids]
            text = span.text(self._sentence(ids[0]).text)
            old = {"removed" if labels is None else ", ".join(labels) or "no entity" for labels in before}
            if identifier and not label:
                raise EditError(f"{text!r} gets no label, so it can have no identifier: leave {identifier!r} out")
            change: dict[str, Any] = {"sentences": ids, "span": span.fragments, "label": label}
            change |= {"identifier": identifier} if identifier else {}
            note, misread = f": {LINKED}", list[str]()
            finds_weights = weight == "enough" and self.model.datastore_weight
            _, runs = self._locate(ids[0], span)
            if span.discontinuous:
                if weight != "enough":
                    raise EditError(f"{text!r} is discontinuous: {LINKED}, whatever the sentence's weight; give none")
            elif not finds_weights:
                note = self._weight_note(weight)
                change |= {"weight": weight} if weight != "enough" else {}
            elif runs[0][1] - runs[0][0] > self.model.network.max_width:  # as only entities of a head over words are
                note = f": {WIDE}"
            else:
                change["weight"] = 1.0
                trial = self._with_vote(self._sync.revise(self._sync.after("relabel", change)), change)
                stands_aside = all(self._sentence(each).weight == 0 for each in ids)
                stays_aside = stands_aside and self._has_learned({label} - {""})
                target = replace(self._target(ids), aside=[0] if stays_aside else [])
                [outcome] = outcomes = reweight(self.model, trial, target)
                change |= {"weight": outcome.weight, "span_weights": outcome.span_weights, "carried": outcome.carried}
                note, misread = receipts.weights_found(target.ids, outcomes)
            after = self._sync.after("relabel", change).sentences
            if all(after[each].is_like(self._sentence(each)) for each in ids):
                raise EditError(f"{text!r} in sentence {ids[0]} is {label or 'no entity'} already")
            where = f"sentence{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"
            summary = f"relabel {text!r} in {where} from {' and '.join(sorted(old))} to {label or 'no entity'}"
            summary += f" {identifier}" * bool(identifier) + note
            return self._make("relabel", summary, change, misread)

    def remove(self, sentence: int, span: Span | None = None) -> Edit:
        """Take one span out of the memory, so that it is neither an entity nor none, or a whole sentence.

        A discontinuous entity is taken out as evidence alone: no edit changes what the model predicts of it.
        """
        with self._editing():
            if span is None:
                removed = {sentence: self._sentence(sentence)}
                summary = f"remove sentence {sentence} of {removed[sentence].document!r}"
                return self._make("remove", summary, *self._removal(removed))
            text, labels = span.text(self._sentence(sentence).text), self._labels(sentence, span)
            if labels is None:
                raise EditError(f"{text!r} in sentence {sentence} is removed already")
            if span.discontinuous and not labels:
                raise EditError(f"{text!r} is no entity of sentence {sentence}, so there is nothing to remove")
            summary = f"remove {text!r} from sentence {sentence}" + f": {LINKED}" * span.discontinuous
            return self._make("remove", summary, {"sentences": [sentence], "span": span.fragments})

    def forget(self, document: str) -> Edit:
        """Remove every sentence of a document; the receipt lists them and says where traces of them are left."""
        with self._editing():
            sentences = self._sync.revision.sentences
            removed = dict(matching(sentences, document=document)) if document else {}
            if not removed:
                known = {sentence.document for sentence in sentences.values()}
                raise EditError(f"the memory holds nothing from {document!r}; {_hint(document, known)}")
            summary = f"forget {document!r}: {count_of(len(removed), 'sentence', 'sentences')}"
            change, lines = self._removal(removed)
            trained = min(removed) < len(self._sync.base)  # some of it came with the model
            traces = [receipts.FILES, receipts.TRAINED if trained else receipts.ADDED]
            return self._make("forget", summary, change, [*lines, *traces])

    def undo(self, only: int | None = None) -> Edit:
        """Take back the last edit that still stands; when called again, the one before it.

        `only` is the number of the edit that is meant: nothing is undone where somebody has made another since.
        """
        with self._editing():
            standing = standing_edits(self._sync.edits)
            if not standing:
                raise EditError("there is no edit to undo")
            last = standing[-1]
            if only is not None and last.number != only:
                raise EditError(f"edit {only} is not the last that stands, which is {last.number}: {last.summary}")
            return self._make("undo", f"undo edit {last.number}: {last.summary}", {"undoes": last.number})

    def preview(self, make: Callable[[Editor], Edit], held_out: Documents | None = None) -> Preview:
        """What an edit would change in held-out sentences; nothing is edited.

        Those are sentences of the memory that are like the edited ones, each read without itself, or documents of
        yours with their entities.

            model.memory.preview(lambda memory: memory.add("[Vienna](PLACE) is cold"))
        """
        with self._mutex:
            self._sync.previews = True
            try:
                edit = make(self)
            finally:
                self._sync.previews = False
            before, after = self._sync.datastore(), self._sync.previewed
            if after is None:
                raise EditError("there was no edit to preview")
            if held_out is not None:
                compared = compare_documents(self.model, before, after, as_documents(held_out).documents)
            else:
                compared = compare_memory(self.model, before, after)
            return Preview(edit, *compared)

    @property
    def training_due(self) -> str:
        """Why the model should be trained again, with its corrections in the training data; "" where it need not be."""
        return receipts.training_due(self._sync.revision.sentences.values())

    def log(self) -> list[Edit]:
        """All edits since the memory was built, the first one first."""
        return list(self._sync.edits)

    def build(
        self,
        documents: Documents | None = None,
        *,
        labels_from: Documents | None = None,
        new_labels: bool = True,
    ) -> Coverage:
        """Fill the memory anew from documents, or from what it holds now, and begin an empty journal.

            model.memory.build("politics.conll", labels_from="politics.conll")

        The labels of `labels_from` take the place of the model's own, which must have no weights for labels. Other
        labels of the documents are added to them, unless `new_labels` is false. Calibration and thresholds go where
        the label set is another.
        The files hold nothing of the old memory then, and its sentences are numbered from 0. What the encoder recalled
        of sentences that were removed is erased too. What of the documents could not be reached is returned.
        """
        with self._mutex, lock_memory(self.folder, self._patience):
            self._sync.reload()
            before, labels = self.model.datastore, None
            if labels_from is not None:
                if documents is None:
                    raise EditError("`labels_from` is for a memory that is built from documents: give them")
                others = as_documents(labels_from).documents
                labels = sorted({entity.label for document in others for entity in document.entities})
                check_label_set(self.model, labels)
            try:
                if documents is None:
                    coverage, datastore = Coverage(), rebuild(self.model, self._sync.datastore())
                else:
                    coverage, datastore = build(self.model, as_documents(documents).documents, labels, new_labels)
                if labels is not None:
                    self.model.drop_calibration()
                    save_calibration(self.model, self.folder)
                replace_memory(self.folder, datastore, self._sync.weights)
            except BaseException:
                self.model.datastore = before  # the folder has it still
                raise
            self._sync.reload()
            erase_forgotten_words(self.folder, self.model.network)
            return coverage

    @contextmanager
    def _editing(self) -> Iterator[tuple[int, Datastore]]:
        """The only editor for a while, with all earlier edits taken up: the next one's number, and the datastore."""
        with self._mutex, lock_memory(self.folder, self._patience):
            if self._sync.state() != self._sync.known_state:
                self._sync.reload()
            if self.model.datastore is None:
                raise EditError(f"{self.folder} has no memory: {NO_MEMORY}")
            yield len(self._sync.edits) + 1, self.model.datastore

    def _refuse_second_answer(self, text: str) -> None:
        """Refuse an answer to a text that the memory holds, and say whose answer that is."""
        held = next((number for number, each in self._sync.revision.sentences.items() if each.text == text), None)
        if held is None:
            return
        answers = (edit.change for edit in standing_edits(self._sync.edits) if "review" in edit.change)
        who = next((change["review"]["reviewer"] for change in answers if change["first"] == held), None)
        said = f"{who} has answered this text meanwhile" if who else "the memory holds this text by now"
        raise AnsweredError(f"{said}, as sentence {held}; your answer is not in the memory")

    def _with_vote(self, datastore: Datastore, change: dict[str, Any]) -> Datastore:
        """A datastore after a change, with its vote fitted again where that is due; the change then has the vote."""
        if not is_due(datastore, frozenset(self.model.trained_labels)):
            return datastore
        vote = fit_vote(self.model, datastore)
        if vote != datastore.vote:
            change["vote"] = vote.to_dict()
        return datastore.with_vote(vote)

    def _weight_note(self, weight: Weight, entity_weight: float = 1.0) -> str:
        """What a summary says of a weight that is given, or that no prediction hangs on."""
        note = f": weight {weight:g}" if weight not in ("enough", 1) else ""
        note += f": its entities count {entity_weight:g} times" if entity_weight != 1 else ""
        return note + f": {WITHOUT_MEMORY}" * (not self.model.datastore_weight)

    def _has_learned(self, labels: Iterable[str]) -> bool:
        """Whether the model was trained with these labels, and with all that its memory was built with."""
        return {*self._sync.datastore().own_names, *labels} <= {*self.model.trained_labels}

    def _target(self, ids: Sequence[int]) -> Target:
        """A sentence that the memory holds, perhaps several times, to be read again."""
        network = self.model.network
        sentences = self.model.split(as_document([self._sentence(ids[0])], self.model.recipe.suggester.unit))
        queries = [Query(network, batch) for batch in network.encode(sentences).reading_batches()]
        return Target(sentences, queries, [ids])

    def _removal(self, removed: Mapping[int, MemorySentence]) -> tuple[dict[str, Any], list[str]]:
        """The change that takes sentences out, and its receipt: they, and what of them the encoder recalls no more."""
        change: dict[str, Any] = {"sentences": list(removed)}
        lines = [receipts.sentence_line(*row) for row in removed.items()]
        word_memory = self.model.network.encoder.word_memory
        trained = [sentence.tokens for number, sentence in removed.items() if number < len(self._sync.base)]
        if word_memory is not None and trained:
            change["forgotten"] = word_memory.find_copies(trained, self._sync.revision.forgotten)
            lines += receipts.forgotten_words_lines(word_memory.count_slots(change["forgotten"]))
        return change, lines

    def _labels(self, sentence: int, span: Span) -> list[str] | None:
        """The labels of a span of a remembered sentence, none where it is no entity; None where it was removed."""
        remembered, runs = self._locate(sentence, span)
        if len(runs) == 1 and runs[0] in remembered.removed:
            return None
        return [gold.label for gold in remembered.entities if gold.fragments == runs]

    def _make(self, kind: Kind, summary: str, change: Mapping[str, Any], receipt: Sequence[str] = ()) -> Edit:
        """Make an edit that the sentences and documents at hand are enough for."""
        revision = self._sync.after(kind, change)
        if not revision.sentences:
            raise EditError(f"this would leave the memory empty: {NO_MEMORY}")
        return self._sync.make(kind, summary, change, receipt, revision, self._sync.revise(revision))

    def _sentence(self, sentence: int) -> MemorySentence:
        remembered = self._sync.revision.sentences.get(sentence)
        if remembered is None:
            raise EditError(f"the memory has no sentence {sentence}: `sentences` lists them with their ids")
        return remembered

    def _locate(self, sentence: int, span: Span) -> tuple[MemorySentence, Fragments]:
        """A sentence and the words of a span of it that the model considers."""
        remembered = self._sentence(sentence)
        runs, text = word_runs(remembered, sentence, span), span.text(remembered.text)
        rules = self.model.network.rules
        if span.discontinuous and not rules.links_fragments:
            raise EditError(f"{text!r} is discontinuous, and this model links no fragments: it remembers none")
        width = max(stop - first for first, stop in runs)
        if width > rules.max_width and not rules.tags_words:
            raise EditError(
                f"{text!r} has {width} {self.model.recipe.suggester.unit}{' in a row' * span.discontinuous}; this "
                f"model considers spans of at most {rules.max_width} (suggester.max_width)"
            )
        return remembered, runs


def _refuse_surrogates(*texts: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise EditError(
            "the text, its id, a label or an identifier holds a lone surrogate, which is no character"
        ) from None


def _hint(document: str, known: set[str]) -> str:
    near = get_close_matches(document, known, n=1)
    return f"did you mean {near[0]!r}?" if near else "`sentences` lists what it holds, with its documents"
