"""Snapshots without what is personal: who used the machine, for what, and what it is called. Pure.

Devices keep serial and uuid, which a vendor needs; processes keep pid, memory and times.
"""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process
from accelwatch.schema.snapshot import DeviceView, Snapshot

_PERSONAL = ("user", "command", "argv", "container", "pod", "job")
# As the NVIDIA driver names the process of an Xid.
_NAMED = re.compile(r"\bname=\S+")
# Host quantities whose labels are mount points.
_MOUNT_QUANTITIES = ("host_nfs", "host_filesystem")
_HOST = "host"


def without_argv(snapshot: Snapshot) -> Snapshot:
    """The snapshot without arguments of processes, which may hold secrets."""
    return _with_processes(snapshot, ("argv",))


def redacted(snapshot: Snapshot) -> Snapshot:
    """The snapshot without users, commands, jobs, pods, mount points, host name, words on the node."""
    bare = _with_processes(snapshot, _PERSONAL)
    node = bare.node
    return msgspec.structs.replace(
        bare,
        host=_HOST,
        devices=tuple(msgspec.structs.replace(view, owners=()) for view in bare.devices),
        node=None if node is None else _placeless(node),
        events=tuple(_wordless(event) for event in bare.events),
    )


def _with_processes(snapshot: Snapshot, names: tuple[str, ...]) -> Snapshot:
    if not any(_has_any(process, names) for process in snapshot.processes()):
        return snapshot
    return msgspec.structs.replace(
        snapshot, devices=tuple(_bare(view, names) for view in snapshot.devices)
    )


def _has_any(process: Process, names: tuple[str, ...]) -> bool:
    return any(getattr(process, name) is not None for name in names)


def _bare(view: DeviceView, names: tuple[str, ...]) -> DeviceView:
    processes = view.reading.processes
    if not processes:
        return view
    bare = tuple(
        msgspec.structs.replace(
            process,
            **dict.fromkeys(names),
            absent={**process.absent, **dict.fromkeys(names, Absence.NOT_COLLECTED)},
        )
        for process in processes
    )
    reading = msgspec.structs.replace(view.reading, processes=bare)
    return msgspec.structs.replace(view, reading=reading)


def _placeless(node: DeviceView) -> DeviceView:
    kept: Mapping[Series, Number] = {
        series: value
        for series, value in node.reading.values.items()
        if not series[0].startswith(_MOUNT_QUANTITIES)
    }
    reading = msgspec.structs.replace(node.reading, values=kept)
    device = msgspec.structs.replace(node.device, name=_HOST)
    return msgspec.structs.replace(node, reading=reading, device=device)


def _wordless(event: ErrorEvent) -> ErrorEvent:
    detail = {name: text for name, text in event.detail.items() if name != "process"}
    text = _NAMED.sub("name=-", event.text)
    if (process := event.detail.get("process")) and process in text:
        text = text.replace(process, "-")
    if not event.device_id:  # a line about the node names its disks, servers and killed processes
        return msgspec.structs.replace(event, text=event.code, subject="", detail={})
    return msgspec.structs.replace(event, text=text, detail=detail)
