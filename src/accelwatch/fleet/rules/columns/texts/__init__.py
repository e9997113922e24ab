"""Texts of rows that conditions compare: states, reasons, what is odd."""
