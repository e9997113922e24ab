"""What the manager keeps: agents, sessions, and how they go on with time."""
