"""Requests to schedulers and their answers: HTTP for any of them, and what is of one alone."""
