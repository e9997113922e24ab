"""The subject of a question: a device, a node, a job, or nothing in particular."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from accelwatch.base.errors import PartialAnswerError, UnmetError
from accelwatch.fleet.picture.why.observed_state import ObservedDevice, ObservedState
from accelwatch.schema.natural_order import natural

_LEAST_UUID = 4
_MOST_NAMED = 12


class Kind(StrEnum):
    """Of what kind it is."""

    EVERYTHING = "everything"
    DEVICE = "device"
    NODE = "node"
    JOB = "job"
    USER = "user"


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The subject, and the devices that it has."""

    kind: Kind
    # `n014/nvidia6`, `n014`, `4718`, `ann`.
    name: str = ""
    devices: tuple[ObservedDevice, ...]


def subject_of(observed: ObservedState, what: str) -> Subject:
    """A device (`nvidia6`, `n014/6`, a uuid's beginning), a node, a job (`4718`, `job:4718`), a user.

    A bare number is a device where there is one node only, else a job. Empty: everything. Raises
    UnmetError with the possible names, or those that it may mean; PartialAnswerError where
    a hub may know the name that did not answer.
    """
    text = what.strip()
    if not text:
        devices = tuple(device for device in observed.devices if device.is_full)
        return Subject(kind=Kind.EVERYTHING, devices=devices)
    kind, _, name = text.partition(":")
    if kind in (Kind.JOB, Kind.NODE, Kind.USER, Kind.DEVICE) and name:
        subject = _BY_KIND[Kind(kind)](observed, name)
    else:
        order = (Kind.DEVICE, Kind.NODE, Kind.JOB, Kind.USER)
        subject = next(
            filter(None, (_BY_KIND[candidate](observed, text) for candidate in order)), None
        )
    if subject is None:
        text = f"nothing is called {what!r} here; {_there_is(observed)}"
        if observed.missing:  # it may be there
            raise PartialAnswerError("; ".join((text, *observed.missing)))
        raise UnmetError(text)
    return subject


def _device(observed: ObservedState, text: str) -> Subject | None:
    node, slash, name = text.rpartition("/")
    near = [device for device in observed.devices if not slash or device.node == node]
    meant = [
        device
        for device in near
        if _means(name, device, bare=bool(slash) or len(observed.nodes) == 1)
    ]
    if len(meant) > 1:
        which = ", ".join(f"{device.node}/{device.name}" for device in meant[:_MOST_NAMED])
        more = f" and {len(meant) - _MOST_NAMED} more" if len(meant) > _MOST_NAMED else ""
        raise UnmetError(f"{text!r} means {len(meant)} devices; say which: {which}{more}")
    if not meant:
        return None
    (device,) = meant
    return Subject(kind=Kind.DEVICE, name=f"{device.node}/{device.name}", devices=(device,))


def _means(name: str, device: ObservedDevice, *, bare: bool) -> bool:
    if name in (device.name, device.id, device.uuid):
        return True
    if name.isdecimal():
        return bare and device.is_full and device.index == int(name)
    uuid = device.uuid.lower().removeprefix("gpu-")
    prefix = name.lower().removeprefix("gpu-")
    return len(prefix) >= _LEAST_UUID and uuid.startswith(prefix)


def _node(observed: ObservedState, text: str) -> Subject | None:
    if text not in observed.nodes:
        return None
    own = tuple(device for device in observed.devices if device.node == text and device.is_full)
    return Subject(kind=Kind.NODE, name=text, devices=own)


def _job(observed: ObservedState, text: str) -> Subject | None:
    own = tuple(device for device in observed.devices if text in device.jobs)
    is_reported = any(
        text == incident.job or text in incident.jobs for incident in observed.incidents
    )
    return Subject(kind=Kind.JOB, name=text, devices=own) if own or is_reported else None


def _user(observed: ObservedState, text: str) -> Subject | None:
    own = tuple(device for device in observed.devices if text in _users(device))
    return Subject(kind=Kind.USER, name=text, devices=own) if own else None


def _users(device: ObservedDevice) -> list[str]:
    return device.user.split("+") if device.user else []


_BY_KIND = {Kind.DEVICE: _device, Kind.NODE: _node, Kind.JOB: _job, Kind.USER: _user}


def _there_is(observed: ObservedState) -> str:
    kinds = (
        (
            "devices",
            [f"{device.node}/{device.name}" for device in observed.devices if device.is_full],
        ),
        ("jobs", sorted({job for device in observed.devices for job in device.jobs}, key=natural)),
        (
            "users",
            sorted({user for device in observed.devices for user in _users(device)}, key=natural),
        ),
    )
    there = [f"{what} {_some(names)}" for what, names in kinds if names]
    if there:
        return f"there are {'; '.join(there)}"
    unread = [f"{node.node}: {node.reason}" for node in observed.nodes.values() if node.reason]
    return f"no device could be read: {_some(unread)}" if unread else "there is no device"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
