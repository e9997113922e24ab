"""From an incident to a node that works again: what is decided (pure), and the one part that waits.

`machine` is the table of states, `step` brings the world from one time to the next, the guards say
what may be done now; all of them know neither clock nor disk. `pursuit` carries out what they want
through the actions, each effect written down before it happens.
"""
