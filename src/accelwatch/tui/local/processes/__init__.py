"""Processes of one machine as rows and facts; their environment, signals to them."""
