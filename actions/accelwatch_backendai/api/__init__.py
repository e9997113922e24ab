"""What is asked of the manager: typed rows of agents and sessions, its errors, the rights of the key."""
