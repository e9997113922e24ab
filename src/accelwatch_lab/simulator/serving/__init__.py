"""The servers of simulated nodes: connections, pages, targets and their ticks."""
