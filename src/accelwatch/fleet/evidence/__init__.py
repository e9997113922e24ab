"""Evidence that others have: accepted when they push it, read where clusters and schedulers keep it."""
