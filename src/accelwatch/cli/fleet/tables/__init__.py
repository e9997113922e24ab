"""What `accelwatch fleet` prints of nodes, groups and devices."""
