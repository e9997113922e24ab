"""The graphs of an incident: its device or node over time, beside the band of its peers."""
