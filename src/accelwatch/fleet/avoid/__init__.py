"""Nodes that new jobs should be kept off now, and why."""
