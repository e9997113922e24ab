"""What brings snapshots, the fleet, its incidents and their history to the boards."""
