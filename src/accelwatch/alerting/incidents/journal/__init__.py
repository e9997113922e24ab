"""The journal: events, written to disk before anybody is notified of them.

`records` is what is written, `journal` how, over a `database`: a file of `sqlite`, or `postgresql`.
`tables` have the present state; `opening` chooses the database, `writer` is the one thread that writes.
"""
