"""The contract of an action: how a decision about a node or a job is carried out, and how it is seen.

An action is found by the entry point `accelwatch.actions` and built as `factory(context)`. It speaks to
one scheduler, or to a site's own scripts, and decides nothing: the engine says what is wanted
(`intent`), asks how things stand (`observed`) and which one step is next (`step`), has the step written
down, lets it be done and looks again. What a command answers is never the proof; only what is observed
afterwards is. So a pursuit that was interrupted anywhere goes on by looking.
"""
