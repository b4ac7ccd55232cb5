"""Recipes: one TOML file a system."""

from nearspan.recipes.recipe import Recipe, TrainingSettings, load, names, value_of

__all__ = ["Recipe", "TrainingSettings", "load", "names", "value_of"]
