"""How much at once, how often and how far: limits that hold for all nodes together. Pure."""
