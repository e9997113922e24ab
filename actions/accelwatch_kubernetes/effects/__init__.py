"""The writes, one request each."""
