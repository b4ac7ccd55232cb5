"""Receipts: what an edit brought in or took out, in plain words."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from nearspan.document import count_of
from nearspan.knn import MemorySentence, Vote
from nearspan.memory.reweight import Outcome, limited_spans

FEWEST = 20  # corrections, or limited ones, after which training again is due
SHARE = 0.01  # of the memory's sentences that are corrections, likewise

FILES = (
    "Still on disk: memory.jsonl and journal.jsonl keep the text, so that undo can bring it back. "
    "`nearspan memory MODEL build` without a corpus writes both anew without it."
)
TRAINED = (
    "Still in the weights: what training took from these sentences. The encoder and, in a head that has weights, the "
    "labels' scores were fitted to them, and the words of the vocabularies may come from them. No edit of the memory "
    "changes that; only training again without the document does."
)
RECALLED = (
    "Still on disk: model.safetensors keeps what the encoder recalled of these words, and memory.safetensors vectors "
    "of other sentences that this was part of. `nearspan memory MODEL build` without a corpus erases the one and "
    "computes the others anew. The checkpoint of training, where the folder has one, keeps it too: delete it."
)
ADDED = "Not in the weights: these sentences were added after training, which never saw them."


def weights_found(ids: Sequence[Sequence[int]], outcomes: Sequence[Outcome]) -> tuple[str, list[str]]:
    """What was found where spans of sentences were to count as often as it takes; which of these are still misread.

    >>> weights_found([[7]], [Outcome(((0, 1, 36.6), (0, 2, 2.0)))])
    (': 2 spans count up to 36.6 times, which is enough', [])
    >>> summary, misread = weights_found([[7], [8]], [Outcome(((0, 1, 3.0),)), Outcome(failure="not even 9 times")])
    >>> summary
    ': 1 span counts 3 times, which is enough; for 1 sentence no weight is, so it counts once'
    >>> misread
    ['sentence 8 is still misread: not even 9 times']
    """
    times = [weight for outcome in outcomes for *_, weight in outcome.span_weights]
    times += [own for outcome in outcomes for _, _, own, _ in outcome.carried]
    lost, parts = sum(bool(outcome.failure) for outcome in outcomes), []
    if len(times) == 1:
        parts.append(f"1 span counts {times[0]:.3g} times, which is enough")
    elif times:
        parts.append(f"{len(times):,} spans count up to {max(times):.3g} times, which is enough")
    elif lost < len(outcomes):
        parts.append("counting once is enough")
    if lost:
        so = "it counts" if lost == 1 else "they count"
        parts.append(
            f"for {count_of(lost, 'sentence', 'sentences')} no weight is{'' if parts else ' enough'}, so {so} once"
        )
    pairs = list(zip(ids, outcomes, strict=True))
    misread = [f"sentence {copies[0]} is still misread: {o.failure}" for copies, o in pairs if o.failure]
    for copies, outcome in pairs:
        misread += [
            f"sentence {copies[0]}: elsewhere {text!r} counts less than here, so that the same words in the memory "
            "keep their other labels"
            for text in outcome.limited
        ]
    return f": {'; '.join(parts)}", misread


def label_lines(before: Sequence[str], after: Sequence[str], datastore_weight: float) -> list[str]:
    """Which labels a model has from now on, and which no more; one that is much like another may be a slip.

    >>> label_lines(["", "PERSON"], ["", "PERSON", "PERSN"], 1.0)
    ['PERSN is a label of the model from now on; if PERSON was meant, undo this']
    """
    lines = []
    for name in after:
        if name not in before:
            [near] = get_close_matches(name, before, 1, 0.8) or [""]
            slip = f"; if {near} was meant, undo this" if near else ""
            unread = "" if datastore_weight else ", which it predicts once its memory is interpolated"
            lines.append(f"{name} is a label of the model from now on{unread}{slip}")
    gone = [name for name in before if name not in after]
    return [*lines, *(f"{name} is no label of the model any more: nothing in the memory has it" for name in gone)]


def vote_lines(before: Vote, after: Vote) -> list[str]:
    """How spans with labels that training did not know count from now on, where that has changed.

    >>> vote_lines(Vote(), Vote(times=12.0, fitted=9))
    ['spans with a label that training did not know count 12 times, fitted on 9 sentences, each read by the others']
    """
    if (before.times, before.temperature, before.neighbours) == (after.times, after.temperature, after.neighbours):
        return []
    line = f"spans with a label that training did not know count {after.times:g} times"
    line += f", with a temperature of {after.temperature:g}" if after.temperature != 1 else ""
    line += f" and {after.neighbours:,} nearest sentences" if after.neighbours else ""
    fitted = count_of(after.fitted, "sentence", "sentences")
    return [f"{line}, fitted on {fitted}, each read by the others" if after.fitted else line]


def training_due(sentences: Iterable[MemorySentence]) -> str:
    """Why training again is due: many corrections, or some that cannot count elsewhere as they do in their sentence."""
    corrected = limited = total = 0
    for sentence in sentences:
        total += 1
        corrected += bool(sentence.carried)
        limited += bool(limited_spans(sentence, sentence.carried))
    reasons = []
    if corrected >= max(FEWEST, SHARE * total):
        reasons.append(f"{corrected:,} of {total:,} sentences are corrections that the model would misread")
    if limited >= FEWEST:
        reasons.append(f"{limited:,} corrections count less elsewhere than in their own sentences")
    return f"train again: {' and '.join(reasons)}" if reasons else ""


def training_due_lines(before: Iterable[MemorySentence], after: Iterable[MemorySentence]) -> list[str]:
    """The same, where an edit makes it due; nothing where it was due before."""
    reason = training_due(after)
    return [reason] if reason and not training_due(before) else []


def sentence_line(number: int, sentence: MemorySentence) -> str:
    """A sentence that came or went."""
    entities = sorted(sentence.entities, key=lambda gold: (gold.fragments, gold.label))
    names = [
        f"{sentence.characters(gold.fragments).text(sentence.text)!r} {gold.label} {gold.identifier}".rstrip()
        for gold in entities
    ]
    weight = f", weight {sentence.weight:g}" if sentence.weight not in (0, 1) else ""
    weight += ", for its corrected words alone" if not sentence.weight else ""
    weight += f", entities {sentence.entity_weight:g} times" if sentence.entity_weight != 1 else ""
    return (
        f"sentence {number} of {sentence.document!r}: {sentence.text!r} ({', '.join(names) or 'no entities'}){weight}"
    )


def forgotten_words_lines(slots: int) -> list[str]:
    """What the encoder recalls no more; nothing where it never recalled any of it.

    >>> forgotten_words_lines(1)[0], forgotten_words_lines(0)
    ('1 word is recalled no more', [])
    """
    words = f"{count_of(slots, 'word', 'words')} {'is' if slots == 1 else 'are'} recalled no more"
    return [words, RECALLED] if slots else []
