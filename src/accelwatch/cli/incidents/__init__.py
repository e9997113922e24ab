"""Commands about incidents: list, explain, silence, audit."""
