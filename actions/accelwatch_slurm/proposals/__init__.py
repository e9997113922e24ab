"""Which step comes next, for each kind of intent. Pure."""
