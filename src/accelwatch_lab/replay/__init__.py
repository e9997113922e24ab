"""Plays a recording or a scenario as if it were this machine: demo, test double, rehearsal of faults."""

from accelwatch_lab.replay.backend import ReplayBackend
from accelwatch_lab.replay.options import demo_file

__all__ = ["ReplayBackend", "demo_file"]
