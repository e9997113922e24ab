"""Tenstorrent accelerators (Wormhole, Blackhole), through tt-kmd's sysfs and tt-smi."""

from accelwatch_tenstorrent.backend import TenstorrentBackend

__all__ = ["TenstorrentBackend"]
