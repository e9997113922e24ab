"""Answers: pages, JSON, HTML, what a client accepts, and what a body may be."""
