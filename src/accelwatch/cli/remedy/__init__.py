"""Commands about what is done to nodes."""
