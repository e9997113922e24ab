"""Slurm, by its own commands: nodes are drained, fenced, rebooted, tested, released; jobs are moved.

Tried with Slurm 22.05; what newer versions print is composed after their sources and manual pages.
"""

from accelwatch_slurm.action import SlurmAction

__all__ = ["SlurmAction"]
