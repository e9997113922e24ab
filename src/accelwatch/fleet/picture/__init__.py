"""A fleet as it is shown: rows, sums, groups, order. Pure: no screen, no network."""
