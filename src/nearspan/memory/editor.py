"""The editor: question a memory, correct it, add to it, take from it, undo."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

from nearspan.document import Document, Span
from nearspan.errors import EditError
from nearspan.explain import Evidence
from nearspan.knn import MemorySentence
from nearspan.memory import Edit, receipts
from nearspan.memory.build import erase_recalled, filled, renewed, replace_memory
from nearspan.memory.checks import check_encodable, check_labels, check_weight
from nearspan.memory.edits import Fragments, Kind, document_dict, relabelled, runs_of, standing
from nearspan.memory.journal import PATIENCE
from nearspan.memory.reweight import APART, Wanted, Weight, enough
from nearspan.memory.sentences import SentenceView, as_document, as_split, matching
from nearspan.memory.sync import MemorySync
from nearspan.model import Model
from nearspan.segment import Coverage
from nearspan.spans import LabelledSentences

JOINED = "fragments are joined without the memory, so predictions stay as they are"
WIDE = "nothing votes on spans wider than suggester.max_width, so predictions stay as they are"
ALONE = "this model decides without its memory, so its predictions stay as they are until it is given a vote"


class Editor:
    """A model with a memory that can be edited.

    Each edit is one line in the folder's journal, on disk for good before the method returns. Any number of processes
    may edit and read a folder: an edit is made on top of what others have done before it, and `refresh` takes up what
    they have done since. The methods may be called from several threads.

        editor = Editor.open("runs/mine")
        editor.add(nearspan.markup("[Vienna](PLACE) is cold"))
        [annotated] = editor.model.annotate(["Vienna is cold"])
        editor.undo()
    """

    def __init__(self, folder: Path, model: Model, patience: float = PATIENCE) -> None:
        if model.typing:
            raise EditError(
                "this model was trained for typing: it labels spans that are given, and its memory holds these alone. "
                "Editing and serving are for models that find entities: train the recipe with suggester.kind=all"
            )
        self.folder = folder
        self.model = model
        self._follower = MemorySync(folder, model, patience)
        self._mutex = RLock()
        self._follower.take_up()

    @classmethod
    def open(cls, path: Path | str, device: str = "", patience: float = PATIENCE) -> Editor:
        """The model of a folder with its edited memory; an edit waits `patience` seconds for another editor."""
        return cls(Path(path), Model.load(path, device, memory=False), patience)

    def refresh(self) -> bool:
        """Take up what other processes have done to the memory since; whether there was anything."""
        if not self._follower.behind:
            return False
        with self._mutex:
            return self._follower.take_up()

    def sentences(
        self, text: str = "", label: str = "", document: str = "", limit: int = 20, offset: int = 0
    ) -> list[SentenceView]:
        """Sentences of the memory in order of their ids: all, or those with a text, a label or from a document."""
        found = matching(self._follower.revision.sentences, text, label, document)
        some = islice(found, min(offset, sys.maxsize), min(offset + limit, sys.maxsize))
        return [SentenceView.of(number, one) for number, one in some]

    def sentence(self, sentence: int) -> SentenceView:
        """One sentence of the memory by its id."""
        return SentenceView.of(sentence, self._sentence(sentence))

    def copies(self, text: str) -> list[SentenceView]:
        """The sentences of the memory that read exactly so, in the words that the model reads."""
        read = [one.words for one in self.model.split(Document(text, sentences=((0, len(text)),)))]
        found = matching(self._follower.revision.sentences, text)
        return [SentenceView.of(number, one) for number, one in found if one.text == text and [one.words] == read]

    def holds(self, sentence: int, span: Span) -> bool:
        """Whether a span is a run of whole words of a remembered sentence, or made of such runs."""
        try:
            runs_of(self._sentence(sentence), sentence, span)
        except EditError:
            return False
        return True

    def search(self, document: Document | str, span: Span, count: int = 5) -> Evidence:
        """The memory's spans nearest to a span of a text."""
        return self.model.neighbours(document, span, count)

    def check(self, documents: Iterable[Document], weight: Weight = "enough") -> None:
        """Refuse what `add` would refuse of any of these documents, before the first of them is added."""
        check_weight(weight)
        for document in documents:
            self._addable(document)

    def add(self, document: Document, weight: Weight = "enough") -> Edit:
        """Remember all sentences of a document with their entities.

        The spans that the model would misread count as often as it takes for each sentence to be read as it is
        annotated here, 1,000,000 times at most. Where that is not enough the sentence counts once, and the receipt says
        so. Entities that the memory has no part in, discontinuous ones and those out of reach, are not looked at.
        With a number for `weight` each sentence counts as so many copies instead.
        """
        check_weight(weight)
        with self._editing() as number:
            document = replace(document, id=document.id or f"added-{number}")
            found = self._addable(document)
            first, count = self._follower.revision.next_id, len(found.sentences)
            ids = [[number] for number in range(first, first + count)]
            change: dict[str, Any] = {"document": document_dict(as_split(document, self.model.split(document)))}
            change |= {"first": first, "count": count}
            wanted = Wanted(self.model.read(found.sentences), found.entities, ids)
            told, lost = self._weigh("add", change, weight, wanted)
            summary = f"add {receipts.counted(count, 'sentence')} of {document.id!r} ({found.coverage}){told}"
            kept = dict(enumerate(self.model.remembered(document), start=first))
            return self._make(number, "add", summary, change, [*receipts.came(kept, found.coverage), *lost])

    def relabel(self, sentence: int | Sequence[int], span: Span, label: str, weight: Weight = "enough") -> Edit:
        """Give a span of a remembered sentence this label and no other; `""` makes it no entity.

        A span that was no entity, or was removed, becomes one. `span` is in the sentence's own text. Where the memory
        has the same sentence several times, all of them can be given. They count from now on as in `add`. A
        discontinuous entity is evidence alone: no edit changes what the model predicts of it.
        """
        check_weight(weight)
        with self._editing() as number:
            check_labels(self.model, [label] if label else [])
            ids = [sentence] if isinstance(sentence, int) else list(sentence)
            if not ids:
                raise EditError("give at least one sentence to relabel")
            if weight == "enough" and len({(one.text, one.words) for one in map(self._sentence, ids)}) > 1:
                raise EditError("these sentences do not read the same, word by word: relabel them one by one")
            old = [self._labels(each, span) for each in ids]
            text = span.text(self._sentence(ids[0]).text)
            was = " and ".join(sorted({"removed" if each is None else ", ".join(each) or "no entity" for each in old}))
            where = f"sentence{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"
            change: dict[str, Any] = {"sentences": ids, "span": span.fragments, "label": label}
            told, lost = f": {JOINED}", list[str]()
            if weight == "enough" and self.model.share and self._wide(ids[0], span):
                told = f": {WIDE}"
            elif not span.discontinuous:
                told, lost = self._weigh("relabel", change, weight, self._wanted(ids, span, label))
            elif weight != "enough":
                raise EditError(f"{text!r} is discontinuous: {JOINED}, whatever the sentence's weight; give none")
            after = self._follower.after("relabel", change).sentences
            if all(after[each] == self._sentence(each) for each in ids):
                raise EditError(f"{text!r} in sentence {ids[0]} is {label or 'no entity'} already")
            summary = f"relabel {text!r} in {where} from {was} to {label or 'no entity'}{told}"
            return self._make(number, "relabel", summary, change, lost)

    def remove(self, sentence: int, span: Span | None = None) -> Edit:
        """Take one span out of the memory, so that it is neither an entity nor none, or a whole sentence.

        A discontinuous entity is taken out as evidence alone: no edit changes what the model predicts of it.
        """
        with self._editing() as number:
            if span is None:
                gone = {sentence: self._sentence(sentence)}
                summary = f"remove sentence {sentence} of {gone[sentence].document!r}"
                change, silenced = self._without(gone)
                return self._make(number, "remove", summary, change, [*receipts.went(gone), *silenced])
            text, labels = span.text(self._sentence(sentence).text), self._labels(sentence, span)
            if labels is None:
                raise EditError(f"{text!r} in sentence {sentence} is removed already")
            if span.discontinuous and not labels:
                raise EditError(f"{text!r} is no entity of sentence {sentence}, so there is nothing to remove")
            summary = f"remove {text!r} from sentence {sentence}" + f": {JOINED}" * span.discontinuous
            return self._make(number, "remove", summary, {"sentences": [sentence], "span": span.fragments})

    def forget(self, document: str) -> Edit:
        """Remove every sentence of a document; the receipt lists them and says where traces of them are left."""
        with self._editing() as number:
            gone = dict(matching(self._follower.revision.sentences, document=document)) if document else {}
            if not gone:
                known = {one.document for one in self._follower.revision.sentences.values()}
                raise EditError(f"the memory holds nothing from {document!r}; {_hint(document, known)}")
            summary = f"forget {document!r}: {receipts.counted(len(gone), 'sentence')}"
            change, silenced = self._without(gone)
            left = receipts.still_known(min(gone) < len(self._follower.base))
            return self._make(number, "forget", summary, change, [*receipts.went(gone), *silenced, *left])

    def undo(self, only: int | None = None) -> Edit:
        """Take back the last edit that still stands; when called again, the one before it.

        `only` is the number of the edit that is meant: nothing is undone where somebody has made another since.
        """
        with self._editing() as number:
            stands = standing(self._follower.edits)
            if not stands:
                raise EditError("there is no edit to undo")
            last = stands[-1]
            if only is not None and last.number != only:
                raise EditError(f"edit {only} is not the last that stands, which is {last.number}: {last.summary}")
            return self._make(number, "undo", f"undo edit {last.number}: {last.summary}", {"undoes": last.number})

    def log(self) -> list[Edit]:
        """All edits since the memory was built, the first one first."""
        return list(self._follower.edits)

    def build(self, documents: Iterable[Document] | None = None) -> Coverage:
        """Fill the memory anew from documents, or from what it holds now, and begin an empty journal.

        The files hold nothing of the old memory then, and its sentences are numbered from 0. What the encoder recalled
        of sentences that were removed is erased too. What of the documents could not be reached is returned.
        """
        with self._mutex, self._follower.journal.locked():
            self._follower.take_up()
            before = self.model.memory
            try:
                if documents is None:
                    coverage, memory = Coverage(), renewed(self.model, self._follower.memory())
                else:
                    coverage, memory = filled(self.model, documents)
                replace_memory(self.folder, memory, self._follower.weights)
            except BaseException:
                self.model.memory = before  # the folder has it still
                raise
            self._follower.take_up()
            erase_recalled(self.folder, self.model.network)
            return coverage

    @contextmanager
    def _editing(self) -> Iterator[int]:
        """The only editor for a while, with all earlier edits taken up: the number of the next one."""
        with self._mutex, self._follower.journal.locked():
            self._follower.take_up()
            self._follower.memory()
            yield len(self._follower.edits) + 1

    def _addable(self, document: Document) -> LabelledSentences:
        """A document as the memory would read it; an error where it cannot be added."""
        check_labels(self.model, (entity.label for entity in document.entities))
        check_encodable(document)
        found = self.model.labelled([document])
        if not found.sentences:
            raise EditError("the document holds no words, so there is nothing to add")
        return found

    def _weigh(self, kind: Kind, change: dict[str, Any], weight: Weight, wanted: Wanted) -> tuple[str, list[str]]:
        """Put into a change how often its sentences count; what to say of that in the summary, and in the receipt."""
        alone = not self.model.share
        if weight != "enough":
            change["weight"] = weight
            return f": weight {weight:g}" * (weight != 1) + f": {ALONE}" * alone, []
        if alone:
            return f": {ALONE}", []
        change["weight"] = 1.0
        trial = change | {"heavier": APART if kind == "relabel" else [APART] * len(wanted.ids)}
        revision = self._follower.after(kind, trial)
        found = enough(self.model, self._follower.revised(revision), wanted)
        change["heavier"] = found[0].heavier if kind == "relabel" else [own.heavier for own in found]
        told = receipts.weighed([None if own.lost else [times for _, _, times in own.heavier] for own in found])
        lost = {ids[0]: own.lost for ids, own in zip(wanted.ids, found, strict=True) if own.lost}
        return f": {told}", receipts.misread(lost)

    def _wanted(self, ids: Sequence[int], span: Span, label: str) -> Wanted:
        """How a sentence should be read that the memory holds, perhaps several times, with a span relabelled."""
        one, runs = self._found(ids[0], span)
        sentences = self.model.split(as_document([one], self.model.recipe.suggester.unit))
        return Wanted(self.model.read(sentences), [relabelled(one, runs, label).entities], [ids])

    def _without(self, gone: Mapping[int, MemorySentence]) -> tuple[dict[str, Any], list[str]]:
        """The change that takes sentences out, and what to say of their words where the encoder recalls words."""
        change: dict[str, Any] = {"sentences": list(gone)}
        recall = self.model.network.encoder.word_memory
        trained = [one.tokens for number, one in gone.items() if number < len(self._follower.base)]
        if recall is None or not trained:
            return change, []
        change["forgotten"] = recall.copies_of(trained, self._follower.revision.forgotten)
        return change, receipts.silenced(recall.slots_of(change["forgotten"]))

    def _labels(self, sentence: int, span: Span) -> list[str] | None:
        """The labels of a span of a remembered sentence, none where it is no entity; None where it was removed."""
        one, runs = self._found(sentence, span)
        if span.discontinuous:
            return [gold.label for gold in one.discontinuous if gold.fragments == runs]
        [place] = runs
        return None if place in one.removed else [own for first, stop, own in one.entities if (first, stop) == place]

    def _make(
        self, number: int, kind: Kind, summary: str, change: Mapping[str, Any], receipt: Sequence[str] = ()
    ) -> Edit:
        """Make an edit, now."""
        edit = Edit(number, datetime.now(UTC).isoformat(timespec="seconds"), kind, summary, change, tuple(receipt))
        self._follower.make(edit)
        return edit

    def _sentence(self, sentence: int) -> MemorySentence:
        found = self._follower.revision.sentences.get(sentence)
        if found is None:
            raise EditError(f"the memory has no sentence {sentence}: see `nearspan memory MODEL list` for their ids")
        return found

    def _found(self, sentence: int, span: Span) -> tuple[MemorySentence, Fragments]:
        """A sentence and the words of a span of it that the model considers."""
        one = self._sentence(sentence)
        runs, text = runs_of(one, sentence, span), span.text(one.text)
        if span.discontinuous and self.model.network.fragment_linker is None:
            raise EditError(f"{text!r} is discontinuous, and this model joins no fragments: it remembers none")
        width, widest = max(stop - first for first, stop in runs), self.model.network.max_width
        if width > widest and not self.model.recipe.head.tags_words:
            raise EditError(
                f"{text!r} has {width} {self.model.recipe.suggester.unit}{' in a row' * span.discontinuous}; this "
                f"model considers spans of at most {widest} (suggester.max_width)"
            )
        return one, runs

    def _wide(self, sentence: int, span: Span) -> bool:
        """Whether a span is wider than all that the memory holds, as only entities of a head over words are."""
        [(first, stop), *others] = self._found(sentence, span)[1]
        return not others and stop - first > self.model.network.max_width


def _hint(document: str, known: set[str]) -> str:
    near = get_close_matches(document, known, n=1)
    return f"did you mean {near[0]!r}?" if near else "see `nearspan memory MODEL list` for its documents"
