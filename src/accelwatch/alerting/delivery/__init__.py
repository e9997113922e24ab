"""From incidents to people: who is notified of what, when, and again until it has arrived.

`routing` says which sinks are notified of an incident, `queue` what they still have to get, by the
`stages` that a notification passes; these are pure. `formatting` has the texts, `transport` what sinks
send with. `dispatcher` is the part that waits, `outbox` keeps what has not arrived.
"""
