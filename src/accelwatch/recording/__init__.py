"""Recordings: snapshots written to a file as they come, and read back in any order."""

from accelwatch.recording.files import holds_recording, names_recording
from accelwatch.recording.layout import Compression, is_recording
from accelwatch.recording.recorder import Recorder
from accelwatch.recording.recording import Recording

__all__ = [
    "Compression",
    "Recorder",
    "Recording",
    "holds_recording",
    "is_recording",
    "names_recording",
]
