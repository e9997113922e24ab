"""What each fault does to the columns of a trace (design 5.3)."""
