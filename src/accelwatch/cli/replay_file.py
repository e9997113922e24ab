"""Which file `--replay NAME` plays, and what a command reads of it: the beginning."""

from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.node.collecting import DEMO, recording_file
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.snapshot import NO_ACCELERATORS

if TYPE_CHECKING:
    from accelwatch.schema.snapshot import Snapshot


def replay_file(name: str) -> str:
    """Path of a recording or scenario, for `demo` of the shipped one. Raises UsageError."""
    file = recording_file(name)
    if file != DEMO:
        return file
    from accelwatch_lab.replay import demo_file

    return str(demo_file())


def replayed(name: str, timeout_s: float) -> "Snapshot":
    """A snapshot of the file. Raises AccelwatchError for what is not there, or has nothing to read."""
    from accelwatch.archive.recording import may_be_recording
    from accelwatch.node.snapshots import first_recorded, read_once

    file = replay_file(name)
    if may_be_recording(Path(file)):
        return first_recorded(Path(file), argv=False, within_s=timeout_s)
    return read_once(
        CollectSettings(
            one_shot=True,
            timeout_s=timeout_s,
            without=NO_ACCELERATORS,
            backends=("replay",),
            options={"replay": {"file": file}},
        )
    )
