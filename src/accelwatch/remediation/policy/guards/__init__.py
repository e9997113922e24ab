"""The guards: whether something may be done now, and why not."""
