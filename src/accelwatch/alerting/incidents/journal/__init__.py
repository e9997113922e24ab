"""The journal: what has happened, written down before anybody hears of it.

`records` is what is written, `journal` how, over a `database`: a file of `sqlite`. `opening` chooses it,
`writer` is the one thread that writes.
"""
