"""The stream of a hub: what has changed, for each client as fast as it reads."""
