"""Exit codes; they are part of the interface and documented in docs/commands.md.

Two numbers mean one thing to commands that read devices and another to commands that change something at
a hub or agent. No command does both.
"""

# Data printed, or done.
OK = 0
# Nothing could be read, it was refused or went wrong, or an internal error.
FAILED = 1
# The command line, an expression or a configuration file is wrong.
USAGE = 2
# Ran fine, no accelerator in the machine; the document is on stdout all the same.
NO_DEVICE = 3
# Nobody knows whether a change was made.
UNKNOWN = 3
# A selector or constraint matched nothing, or there is nothing of that name.
UNMET = 4
# A person has to approve the change first.
NEEDS_APPROVAL = 4
# Devices are there, but this user may not read them; or a hub wants other credentials.
PERMISSION = 5
# With --strict: a device is lost or hung.
UNHEALTHY = 6
# Ended by ^C.
INTERRUPTED = 130
