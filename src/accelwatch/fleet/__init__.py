"""The fleet: many nodes, with or without our agent on them, followed by one hub."""
