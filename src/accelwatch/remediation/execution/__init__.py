"""Carrying out what is decided: the engine, its operations and their ledger."""
