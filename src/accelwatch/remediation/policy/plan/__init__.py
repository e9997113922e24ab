"""What would be done for a node now: gates, repair, verification, spares, and the plan in words."""
