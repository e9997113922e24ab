"""Which nodes and devices are expected, in a file that outlives the hub."""
