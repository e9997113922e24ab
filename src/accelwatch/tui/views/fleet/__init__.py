"""A fleet as lists and lines: totals, nodes, incidents."""
