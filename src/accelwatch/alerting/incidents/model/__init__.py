"""What an incident and a silence are. Pure data."""
