"""The nodes that stand in for others: where each has got to, and which one is drawn."""
