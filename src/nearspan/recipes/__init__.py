"""Recipes: one TOML file a system."""
