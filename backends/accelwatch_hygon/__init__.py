"""Hygon DCUs, through hy-smi.

hy-smi is a relative of rocm-smi, so it is no table of `backend.kit.smi`: it prints JSON by card with
units in the keys, a table of words in columns, and processes and health in runs of their own. These
runs complete each other (`rounds`); those of nvidia-smi's relatives stand in for each other.
"""

from accelwatch_hygon.backend import HygonBackend

__all__ = ["HygonBackend"]
