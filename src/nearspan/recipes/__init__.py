"""Recipes: one TOML file a system."""

from nearspan.recipes.recipe import Recipe, TrainingSettings, load, names

__all__ = ["Recipe", "TrainingSettings", "load", "names"]
