"""Colours and styles: palettes, what a role looks like, what a person prefers."""
