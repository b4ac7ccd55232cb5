"""Evidence as a few lines of text, for tools that show a note beside an entity."""

from nearspan.explain.evidence import Evidence

CONTEXT = 60  # characters of a training sentence on each side of its span
MEANING = {
    "exact": "shares of this probability",
    "attended": "from training, a part of what the model read",
    "nearest": "look-alikes in the memory, by cosine",
}


def evidence_note(evidence: Evidence) -> str:
    """What an entity rests on: its label, and the training spans with their weights.

    note = evidence_note(model.explain("Ada lives in Oslo")[0])
    """
    lines = [f"{evidence.label} {evidence.score or 0.0:.2f}; {MEANING[evidence.strength]}:"]
    for near in evidence.neighbours.get(evidence.label, ()):
        left, right = max(0, near.span.start - CONTEXT), near.span.end + CONTEXT
        sentence = f"{'…' * (left > 0)}{near.sentence[left:right]}{'…' * (right < len(near.sentence))}"
        lines.append(f"{near.weight:.2f} {near.text} in: {' '.join(sentence.split())} ({near.document})")
    return "\n".join(lines)
