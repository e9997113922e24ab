"""Which step leads to what is wanted. Pure."""
