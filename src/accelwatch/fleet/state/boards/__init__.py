"""What is worked out for every node again and again: repeated faults, and what differs from most."""
