"""nearspan: named entity recognition that shows its evidence."""

from nearspan.document import Document, Entity, Span

__version__ = "0.1.0"

__all__ = ["Document", "Entity", "Span"]
