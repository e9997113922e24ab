"""Spares: which node may stand in for another, and how it does. Pure."""
