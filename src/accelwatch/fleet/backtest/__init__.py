"""What rules would have said over an archive, by the engine that judges a live fleet.

`incidents.Backtest(archive, rules)` is for everybody: its `incidents()` yields each incident when it is
opened and again when it changes, while the archive is read once in order of time; it blocks, so that
who has a loop runs it on a thread.
"""
