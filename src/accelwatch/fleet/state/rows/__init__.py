"""The table of all devices: stable rows, columns, groups."""
