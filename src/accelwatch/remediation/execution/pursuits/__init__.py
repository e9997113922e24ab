"""Pursuits: each carries out one intent, from the first observation of its node to the end."""
