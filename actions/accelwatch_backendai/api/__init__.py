"""Rows of the manager, typed: agents, sessions with their kernels, and how a session is created anew."""
