"""What a detector's lines are worth against the truth of the same trace."""
