"""Names: ranges of hosts, numbers in few cells, what was likely meant, keys of hardware."""
