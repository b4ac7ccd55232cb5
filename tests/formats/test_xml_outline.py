import pytest

from nearspan.formats.xml_outline import root_name


@pytest.mark.parametrize("piece", ["<?a?>", "<!---->", "<!DOCTYPE a [b]>", "<!DOCTYPE [a]", "<!DOCTYPE 'a'"])
def test_what_comes_before_no_element_is_looked_through_once(piece: str):
    """Tried in all ways in which pieces can be put together, this would not end."""
    assert root_name(piece * 1000 + "x") == ""


def test_an_element_comes_after_declarations_with_quoted_brackets():
    assert root_name('<!DOCTYPE a SYSTEM "b>" [<!ENTITY c "]>">]>\n<!-- > -->\n<collection>') == "collection"
