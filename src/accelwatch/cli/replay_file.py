"""Which file `--replay NAME` plays."""

from accelwatch.node.collecting import DEMO, recording_file


def replay_file(name: str) -> str:
    """Path of a recording or scenario, for `demo` of the shipped one. Raises UsageError."""
    file = recording_file(name)
    if file != DEMO:
        return file
    from accelwatch_lab.replay import demo_file

    return str(demo_file())
