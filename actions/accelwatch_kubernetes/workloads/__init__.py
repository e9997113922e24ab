"""Workloads: what pods belong to, and what each kind does when a node is tainted or its pods go."""
