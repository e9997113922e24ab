"""Pursuits: each carries out one intent, from the first look at its node to the end."""
