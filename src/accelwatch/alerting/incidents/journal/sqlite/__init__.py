"""A journal in a SQLite file of this machine, the only one of its folder."""
