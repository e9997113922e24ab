"""Key commands on incidents and remedies; each change needs a confirmation."""
