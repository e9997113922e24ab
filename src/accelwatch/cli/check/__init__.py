"""`accelwatch check`: the health of this node."""
