"""Commands about many nodes."""
