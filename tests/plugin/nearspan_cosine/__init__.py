"""Parts for nearspan from a package of its own: a head, a span representation and a format."""

import nearspan
from nearspan_cosine.head import CosineHead
from nearspan_cosine.markup_lines import MARKUP_LINES
from nearspan_cosine.representation import EndSum

nearspan.register("head", CosineHead)
nearspan.register("representation", EndSum)
nearspan.register("format", MARKUP_LINES)
