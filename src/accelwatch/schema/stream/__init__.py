"""The compact forms of streams and pipes."""
