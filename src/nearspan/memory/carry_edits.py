"""Edits that were made while a model was trained from another one: made in the new memory too, before it takes over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearspan.document import Span
from nearspan.errors import EditError
from nearspan.knn import MemorySentence
from nearspan.memory.editor import Editor
from nearspan.memory.edits import Revision, read_document
from nearspan.memory.reweight import Weight
from nearspan.memory.sentences import labelled_document
from nearspan.memory.sync import MemorySync
from nearspan.model import Model
from nearspan.segment import Fragments


def carry_edits(old: Path | str, new: Path | str) -> int:
    """Make in the memory of a model the edits that were made in that of `old` since `new` was trained from it.

        nearspan.train(from_model="runs/mine", out="runs/better")
        nearspan.training.carry_edits("runs/mine", "runs/better")

    How many edits of the new memory it took is returned. They are on disk for good one by one; what was undone
    since is taken back too. Nobody may edit the old memory meanwhile, or it is not all there.
    """
    editor = Editor.open(new)
    began = next((edit.change for edit in editor.log() if edit.kind == "train"), None)
    sync = MemorySync(Path(old), Model.load(old, memory=False))
    sync.reload()
    if began is None or sync.base_name != began["base"]:
        raise EditError(f"{new} was not trained from the memory that {old} has now: train again")
    reviews = {edit.change["first"]: edit.change["review"] for edit in sync.edits if "review" in edit.change}
    before = Revision.of(sync.base, sync.edits[: began["edits"]], sync.model.memory_sentences)
    after, count = sync.revision, len(editor.log())
    for place, number in enumerate(sorted(before.sentences)):
        sentence = after.sentences.get(number)
        if sentence is None:
            editor.remove(place)
        else:
            _relabel(editor, place, before.sentences[number], sentence)
    for first, (content, size) in after.added.items():
        sentences = [after.sentences[number] for number in range(first, first + size) if number in after.sentences]
        if first < before.next_id or not sentences:
            continue
        document = read_document(content)
        whole = [(each.entities, each.identifiers) for each in sync.model.memory_sentences(document)]
        if whole != [(each.entities, each.identifiers) for each in sentences]:  # some of it was edited since
            document = labelled_document(sentences, sync.model.recipe.suggester.unit)
        weights = {each.weight for each in sentences} - {0.0, 1.0}
        entity_weight = sentences[0].entity_weight
        weight: Weight = weights.pop() if len(weights) == 1 else "enough" if entity_weight == 1 else 1.0
        editor.add(document, weight, entity_weight=entity_weight, review=reviews.get(first))
    return len(editor.log()) - count


def _relabel(editor: Editor, place: int, before: MemorySentence, after: MemorySentence) -> None:
    """Let a sentence of the new memory have the labels that its like in the old one has now."""

    def content(sentence: MemorySentence) -> set[tuple[Fragments, str, str]]:
        return {(gold.fragments, gold.label, gold.identifier) for gold in sentence.entities}

    changed = {fragments for fragments, *_ in content(before) ^ content(after)}
    changed |= {((first, stop),) for first, stop in {*before.removed} - {*after.removed}}
    for fragments in sorted(changed):
        golds = [gold for gold in after.entities if gold.fragments == fragments]
        label, identifier = (golds[0].label, golds[0].identifier) if golds else ("", "")
        if not _is_removed(fragments, after.removed):
            span = after.characters(fragments)
            had = {gold.label for gold in before.entities if gold.fragments == fragments and gold.identifier}
            if label in had and not identifier:  # the same label would keep the identifier
                editor.relabel(place, span, "")
            editor.relabel(place, span, label, identifier=identifier)
    for first, stop in sorted({*after.removed} - {*before.removed}):
        editor.remove(place, Span.of(after.words[first][0], after.words[stop - 1][1]))


def _is_removed(fragments: Sequence[tuple[int, int]], removed: Sequence[tuple[int, int]]) -> bool:
    return len(fragments) == 1 and fragments[0] in removed
