"""Backend.AI: agents are nodes, sessions are jobs, resource groups are pools."""
