"""Which incidents belong together: groups of rules, storms of many nodes, and causes."""
