"""How a target is read: one long stream of our agents, or its exposition again and again."""
