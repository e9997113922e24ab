"""The agent's configuration: YAML, environment and flags become one frozen, checked `Settings`."""

from accelwatch.config.layers import Effective, effective, find_file
from accelwatch.config.model import Settings

__all__ = ["Effective", "Settings", "effective", "find_file"]
