"""CASes as INCEpTION sends them: words, sentences, and a layer of spans with the features that recommenders fill."""

from collections.abc import Sequence

from cassis import Cas, TypeSystem

SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
LAYER = "custom.Span"


def make_cas(sentences: Sequence[str], *annotations: tuple[str, str | None], predicted: Sequence[str] = ()) -> Cas:
    """Sentences of words between blanks, with annotations of texts; those predicted are a recommender's."""
    types = TypeSystem()
    word, sentence = (
        types.create_type(f"{SEGMENTATION}.{name}", "uima.tcas.Annotation") for name in ("Token", "Sentence")
    )
    span = types.create_type(LAYER, "uima.tcas.Annotation")
    features = {"label": "String", "label_score": "Double", "label_score_explanation": "String"}
    for name, kind in {**features, "count": "Integer", "inception_internal_predicted": "Boolean"}.items():
        types.create_feature(span, name, f"uima.cas.{kind}")
    cas = Cas(types)
    cas.sofa_string, cas.sofa_mime = " ".join(sentences), "text/plain"
    at = 0
    for text in sentences:
        cas.add(sentence(begin=at, end=at + len(text)))
        for part in text.split():
            cas.add(word(begin=at, end=at + len(part)))
            at += len(part) + 1
    for text, label in annotations:
        begin = cas.sofa_string.index(text)
        values = {"begin": begin, "end": begin + len(text), "label": label}
        cas.add(span(**values, inception_internal_predicted=text in predicted))
    return cas
