"""Recordings: snapshots written to a file as they come, and read back in any order."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelwatch.archive.recording.files import may_be_recording, names_recording
    from accelwatch.archive.recording.layout import Compression, is_recording
    from accelwatch.archive.recording.recorder import Recorder
    from accelwatch.archive.recording.recording import Recording

__all__ = [
    "Compression",
    "Recorder",
    "Recording",
    "is_recording",
    "may_be_recording",
    "names_recording",
]

# Loaded when first used: who only writes needs nothing that reads.
_HOMES = {
    "Compression": "layout",
    "Recorder": "recorder",
    "Recording": "recording",
    "may_be_recording": "files",
    "is_recording": "layout",
    "names_recording": "files",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"accelwatch.archive.recording.{_HOMES[name]}"), name)
