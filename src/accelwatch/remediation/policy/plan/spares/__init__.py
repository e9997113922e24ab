"""Spares: which node may stand in for another, and their tests. Pure."""
