"""What the hub knows: nodes, their devices and their age, what is expected, and recent history."""
