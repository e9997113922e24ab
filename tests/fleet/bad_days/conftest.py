"""Fixtures of the bad days: a way to run a ward and a bad target on one loop."""
