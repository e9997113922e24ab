"""A process as a row, and its texts."""

from collections.abc import Sequence

import msgspec

from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView

# pid, start time and device: what a selection is held by.
Key = tuple[int, float | None, str]


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """A process, on one device or summed up over several, or the head of a group (`process` is None)."""

    process: Process | None = None
    view: DeviceView | None = None
    group: str = ""
    depth: int = 0
    # Whether it is the last of its group.
    last: bool = False
    members: tuple[Process, ...] = ()
    # The devices that it is on, in the order of their names; of a group those of all its members.
    views: tuple[DeviceView, ...] = ()

    @property
    def key(self) -> Key:
        """What the selection is held by; a group is held by its name."""
        if self.process is None:
            return (0, None, self.group)
        return (self.process.pid, self.process.start_time, self.process.device_id)


def owner(process: Process) -> str:
    """Whose it is: job, pod, container or user, the first that is known."""
    if process.job:
        return f"job {process.job}"
    if process.pod:
        return f"pod {process.pod}"
    if process.container:
        return f"container {process.container}"
    return f"user {process.user}" if process.user else "unknown owner"


def workload(process: Process) -> str:
    """Pod, job or container, the first that is known."""
    return process.pod or process.job or process.container or ""


def command(process: Process) -> str:
    """The command with its arguments where they were collected."""
    if process.argv:
        return " ".join(process.argv)
    return process.command or ""


def process_of(row: ProcessRow) -> Process:
    """The process; an empty one for the head of a group."""
    return row.process or Process(device_id="", pid=0)


def device_name(row: ProcessRow) -> str:
    """The name of the device that it is on; empty for the head of a group."""
    return row.view.device.name if row.view else ""


def holders(views: Sequence[DeviceView]) -> list[DeviceView]:
    """Without the devices of which a partition is among them: these report the same memory again."""
    parents = {view.device.parent_id for view in views}
    return [view for view in views if view.device.id not in parents]
