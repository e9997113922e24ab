"""The plug-in that the hub of these tests acts by."""

from fleet.remedies.conftest import fake_plugin

__all__ = ["fake_plugin"]
