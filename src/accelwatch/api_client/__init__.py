"""Requests to the HTTP API of a scheduler, whichever it is: connections, turns, TLS, and URLs."""
