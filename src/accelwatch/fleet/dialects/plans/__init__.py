"""What the series of a page mean, worked out once for as long as they are the same."""
