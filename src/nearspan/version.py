"""The version, apart from the package's public names: a saved model states it, and every stage may."""

__version__ = "0.2.0"
