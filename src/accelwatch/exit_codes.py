"""Exit codes; they are part of the interface and documented in docs/commands.md."""

OK = 0
"""Data printed."""
NOTHING_READ = 1
"""Nothing could be read, or an internal error."""
USAGE = 2
"""The command line or a configuration file is wrong."""
NO_DEVICE = 3
"""Ran fine, no accelerator in the machine; the document is on stdout all the same."""
UNMET = 4
"""A selector or constraint matched nothing."""
PERMISSION = 5
"""Devices are there, but this user may not read them."""
UNWELL = 6
"""With --strict: a device is lost or unresponsive."""
INTERRUPTED = 130
"""Ended by ^C."""
