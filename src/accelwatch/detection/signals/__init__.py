"""The signals that are compared: a row each, for devices and for nodes."""
