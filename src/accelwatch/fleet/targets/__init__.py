"""Which nodes are followed: written out with host ranges, or read from files that are watched."""
