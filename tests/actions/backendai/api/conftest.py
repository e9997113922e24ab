"""Fixtures of the tests of what is read of the manager."""

from support.backendai.fixtures import secret_key_file

__all__ = ["secret_key_file"]
