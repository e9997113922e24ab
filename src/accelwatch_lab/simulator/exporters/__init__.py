"""Expositions of simulated nodes, as foreign exporters write them."""
