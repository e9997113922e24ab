"""The page of one incident, for a person with a browser: what is wrong, what would be done, yes or no.

`pages` is what the server calls, `decisions` what there is to decide, `traces` and `graph` the picture
of the evidence, `render` the whole.
"""
