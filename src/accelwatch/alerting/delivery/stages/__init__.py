"""The stages that a notification passes on its way to a sink, one job each. Pure: time is given.

As in Alertmanager, with two differences: a message is one of an incident, not of a group, as storms are
incidents of their own; and it is kept in an outbox until it has arrived, so a restart loses nothing.

- `open`: the first message of an incident to a sink
- `mute`: silences, members of groups, quiet hours
- `dedup`: which changes of an open incident are notified, and as what
- `resolve`: whether its end is, and what if it comes back before that
- `group`: what begins right after others waits for more
- `wait`: what begins waits for what is done about it, its end until it stays over
- `remind`: that it is still open
- `retry`: what has not arrived; `set_notifies`: what has
"""
