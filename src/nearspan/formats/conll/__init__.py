"""CoNLL columns: one word a line, a blank line after a sentence, labels as chunk tags in the last columns.

The text of a document is its words joined by blanks and its sentences joined by newlines. Lines with a tab
are split at tabs, others at blanks. A `-DOCSTART-` line begins a document; a file without one is one
document. A line before a sentence that begins with # and does not end in a tag is a comment, unless it has the
columns of a word: as many as most lines, and a tab or no blank after the #.

Which columns hold labels: a label column is one most of whose values are `O` or PREFIX-LABEL. If all
columns after the word are label columns, each is a layer of (nested) entities; otherwise only the last
column is read, so the part of speech and chunk columns of CoNLL-2003 are left alone. `columns` says it
where this rule is wrong.

Written are tabs, IOB2, and as many label columns as the nesting needs, innermost first.
"""

from nearspan.formats.conll.reader import detect, read
from nearspan.formats.conll.writer import write
from nearspan.formats.format import Format

__all__ = ["FORMAT", "detect", "read", "write"]

FORMAT = Format("conll", read, detect, write, endings=(".conll", ".iob", ".iob2", ".bio", ".tsv"), columns=True)
