"""What snapshots of a node say to its rules and its detector."""
