"""What has happened, on a machine or in a fleet: states with their end, and events."""
