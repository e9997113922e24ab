"""The journal: what has happened, written down before anybody hears of it.

`records` is what is written, `file` the SQLite file, `opening` what happens on a bad day, `writer` the
one thread that writes.
"""
