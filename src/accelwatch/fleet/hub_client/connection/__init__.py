"""Requests to a hub and its stream: over HTTP, TLS or a socket."""
