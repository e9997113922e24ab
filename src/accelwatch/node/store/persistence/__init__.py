"""State of a node that outlives the agent: counters, identities."""
