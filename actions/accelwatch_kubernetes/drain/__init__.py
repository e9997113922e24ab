"""Which pods of a node leave, how, and what keeps them. Pure."""
