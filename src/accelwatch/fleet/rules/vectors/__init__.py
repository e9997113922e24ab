"""Expressions over columns: three-valued truth, numbers, a program of rules."""
