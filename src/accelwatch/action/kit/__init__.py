"""What several actions share: steps performed and recovered by tables, power of nodes, checkpoints."""
