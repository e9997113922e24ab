"""The table of kinds: one row each, with what a kind does and by which fields that is seen. Pure."""
