"""The journal: what has happened, written down before anybody hears of it.

`records` is what is written, `journal` how, over a `database`: a file of `sqlite`, or `postgresql`.
`tables` say how things stand; `opening` chooses the database, `writer` is the one thread that writes.
"""
