"""Columns that rules read: of the live fleet, of arrays, by row."""
