"""Processes that we start: vendor commands within bounds, and children that end with their parent."""
