"""The fleet as a map of device cells."""
