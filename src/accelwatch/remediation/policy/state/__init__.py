"""What is known of nodes, remedies, spares and the fleet, and what a step makes of it."""
