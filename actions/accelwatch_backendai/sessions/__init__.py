"""Sessions as jobs: how far they are, what they descend from, which of them are moved."""
