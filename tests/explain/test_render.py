"""Evidence in a terminal."""

from dataclasses import replace

from rich.console import Console

from nearspan.document import Span
from nearspan.explain import mark_spans, render
from nearspan.explain.evidence import CounterEvidence, Evidence, Neighbour, RecalledWord


def print_plain(thing) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(thing)
    return console.export_text()


def evidence(sentence: str, span: Span, strength: str = "exact") -> Evidence:
    near = Neighbour("PER", 0.75, span, sentence, "doc-1", 3, 1)
    return Evidence(
        Span.of(0, 3), "Ada", "PER", strength, {"PER": 0.9, "": 0.1}, {"PER": [near]}, {"PER": 0.15, "": 0.1}
    )


def test_the_span_its_label_and_what_it_rests_on():
    text = print_plain(render(evidence("Bob met Eve", Span.of(0, 3))))
    for part in ("Ada", "PER", "0.900", "no entity 0.100", "0.750", "Bob met Eve", "doc-1", "0.150", "add up"):
        assert part in text


def test_look_alikes_are_not_called_the_mechanism():
    assert "not the mechanism" in print_plain(render(evidence("Bob met Eve", Span.of(0, 3), "nearest")))


def test_recalled_words_are_shown_with_the_memorys_share():
    near = Neighbour("PER", 0.25, Span.of(0, 3), "Ada met Eve", "doc-7", 3, 0)
    recalled = [RecalledWord("Ada", 0.7, [near], 0.75), RecalledWord("Zorro", 0.0, [], 0.0)]
    evidence = Evidence(Span.of(0, 9), "Ada Zorro", "PER", "attended", {"PER": 0.9, "": 0.1}, {}, {}, recalled=recalled)
    text = print_plain(render(evidence))
    for part in ("attended", "70% of 'Ada'", "0.250", "doc-7", "0.750", "all other occurrences", "'Zorro' is not in"):
        assert part in text


def test_long_sentences_are_shown_around_the_span():
    sentence = "x" * 300 + " Bob " + "y" * 300
    text = print_plain(render(evidence(sentence, Span.of(301, 304))))
    assert "Bob" in text
    assert "x" * 41 not in text
    assert text.count("…") == 2


def test_control_characters_of_the_data_do_not_reach_the_terminal():
    wicked = "\x1b[2JBob\x9b31m\x07 met\tEve"
    for thing in (mark_spans(wicked, [(Span.of(4, 7), "P\x1bER")]), render(evidence(wicked, Span.of(4, 7)))):
        printed = print_plain(thing)
        assert not {character for character in printed if character < " " or "\x7f" <= character < "\xa0"} - {"\n"}
        assert "�[2JBob" in printed
    assert "�[2JBob⟨P�ER⟩" in print_plain(mark_spans(wicked, [(Span.of(4, 7), "P\x1bER")]))


def test_markup_and_line_breaks_in_the_data_are_only_characters():
    text = print_plain(render(evidence("[red]Bob[/red]\nand\r\n[/oops]", Span.of(5, 8))))
    assert "[red]Bob[/red] and" in text
    assert "[/oops]" in text


def test_labels_stand_behind_their_spans():
    marked_text = mark_spans("Ada met Bob", [(Span.of(0, 3), "PER"), (Span.of(8, 11), "[x]")])
    assert marked_text.plain == "Ada⟨PER⟩ met Bob⟨[x]⟩"


def test_what_would_have_to_go_is_said():
    explained = evidence("Bob met Eve", Span.of(0, 3))
    assert "No removal from the memory would change this" in print_plain(render(explained))
    flipped = replace(explained, counter_evidence=CounterEvidence(2, "", list(explained.neighbours["PER"])))
    assert "Remove these 2 training spans and it is no longer an entity." in print_plain(render(flipped))


def test_look_alikes_with_other_labels_and_the_memorys_vote_are_shown():
    explained = evidence("Bob met Eve", Span.of(0, 3), "nearest")
    other = Neighbour("PLACE", 0.5, Span.of(8, 11), "Bob met Eve", "doc-2", 4, 9)
    text = print_plain(
        render(replace(explained, against=[other], weight=0.3, knn_probabilities={"PER": 0.25, "": 0.75}))
    )
    for part in ("against it", "PLACE", "doc-2 #9", "weight of 0.3", "PER 0.250, no entity 0.750"):
        assert part in text
