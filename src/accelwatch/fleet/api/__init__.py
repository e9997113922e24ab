"""The hub's pages: the fleet, its nodes and devices, a stream, its own metrics."""
