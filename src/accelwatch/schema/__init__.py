"""The data model: what a device is, what was read from it, and why something was not."""
