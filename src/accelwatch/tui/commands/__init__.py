"""What keys do: one module a subject, and the dispatch from an action to its handler."""
