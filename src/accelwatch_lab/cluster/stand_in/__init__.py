"""A small scheduler for machines without Slurm: whole nodes, one job a node, hooks over HTTP.

It stands in for a site's own scheduler, and is reached as one would be: through the action `script`.
"""
