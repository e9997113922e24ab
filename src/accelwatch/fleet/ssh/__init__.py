"""Nodes that are reached by the system's own ssh, with nothing of ours installed there."""
