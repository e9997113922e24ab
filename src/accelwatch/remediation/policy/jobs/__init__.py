"""The jobs of a bad node: which is moved next, with what, and whether it runs again."""
