"""Which step is next for an intent. Pure."""
