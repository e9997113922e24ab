"""What several actions share: commands for the power of nodes, and searches for checkpoints."""
