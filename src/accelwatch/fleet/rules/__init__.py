"""Rules over all devices of a fleet at once: the typed trees of `expr`, over columns."""
