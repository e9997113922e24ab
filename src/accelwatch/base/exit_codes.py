"""Exit codes; they are part of the interface and documented in docs/commands.md.

Two numbers mean one thing to commands that read devices and another to commands that change something at
a hub or agent. No command does both.
"""

OK = 0
"""Data printed, or done."""
FAILED = 1
"""Nothing could be read, it was refused or went wrong, or an internal error."""
USAGE = 2
"""The command line, an expression or a configuration file is wrong."""
NO_DEVICE = 3
"""Ran fine, no accelerator in the machine; the document is on stdout all the same."""
UNKNOWN = 3
"""Nobody knows whether a change was made."""
UNMET = 4
"""A selector or constraint matched nothing, or there is nothing of that name."""
NEEDS_APPROVAL = 4
"""A change is asked for, and a person has to say yes first."""
PERMISSION = 5
"""Devices are there, but this user may not read them; or a hub wants other credentials."""
UNHEALTHY = 6
"""With --strict: a device is lost or hung."""
INTERRUPTED = 130
"""Ended by ^C."""
