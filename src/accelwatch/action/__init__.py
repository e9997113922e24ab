"""The contract of an action: how a decision about a node or a job is carried out, and how it is seen.

An action is found by the entry point `accelwatch.actions` and built as `factory(context)`. It speaks to
one scheduler, or to a site's own scripts, and decides nothing: the engine says what is wanted
(`intent`), reads the state (`observed`), gets the next step (`step`), journals the step, performs it and
reads the state again. The response of a command is never proof; only what is observed afterwards is. So
an operation that was interrupted anywhere goes on from what it observes.
"""
