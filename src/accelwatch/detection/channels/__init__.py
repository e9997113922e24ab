"""The channels: each turns a tick into evidence and keeps what it needs of the past."""
