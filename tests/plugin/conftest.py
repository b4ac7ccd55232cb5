"""The package under test is installed by its tests, not collected with them."""

collect_ignore = ["nearspan_cosine"]
