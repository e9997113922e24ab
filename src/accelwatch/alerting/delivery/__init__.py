"""From incidents to people: what is said, to whom, when, and again until it has arrived.

`notice` is what is said of an incident, `text` how it reads in plain words within the limits of a sink.
`routing` and `quiet` say who is told from when on, `queue` what is still to be said; they are pure.
`dispatcher` is the part that waits, `outbox` keeps what has not arrived. `post` and `blocking` are for
sinks.
"""
