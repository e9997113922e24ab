"""Everybody's web server: connections, limits, TLS, passwords, and the configuration of all that."""
