"""Sockets: listeners, addresses, connections, and for which host a request was meant."""
