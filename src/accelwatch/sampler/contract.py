"""What a backend returned is checked here before it is believed; a breach is an error with its name."""

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from accelwatch.errors import BackendUnavailable, ReadError
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.store.reports import Failure

MAX_DEVICES = 1024
MAX_EVENTS = 4096
"""Events taken from one answer of an event source; the newest are kept."""
_INTEGERS = range(-(1 << 63), 1 << 64)
"""What MessagePack can carry."""


_encoder = msgspec.msgpack.Encoder()
_T = TypeVar("_T")


class ContractError(Exception):
    """A backend returned something that its contract rules out; the message says what."""


def failure_of(error: Exception) -> Failure:
    """Why a device gave no reading, from what its backend raised."""
    if isinstance(error, ReadError):
        return Failure(
            absence=error.absence, code=error.code or type(error).__name__, message=str(error)
        )
    if isinstance(error, BackendUnavailable):
        return Failure(absence=Absence.ERROR, code=error.reason, message=str(error))
    if isinstance(error, ContractError):
        return Failure(absence=Absence.ERROR, code="contract", message=str(error))
    return Failure(absence=Absence.ERROR, code=type(error).__name__, message=repr(error)[:500])


def sound_devices(result: object) -> tuple[Device, ...]:
    """Devices with distinct ids. Raises ContractError."""
    if not isinstance(result, Sequence) or not all(isinstance(d, Device) for d in result):
        raise ContractError(f"a sequence of devices was expected, not {_brief(result)}")
    if len(result) > MAX_DEVICES:
        raise ContractError(f"{len(result)} devices are more than {MAX_DEVICES}")
    if len({device.id for device in result}) != len(result):
        raise ContractError("two devices have the same id")
    return _sendable(tuple(result), tuple[Device, ...])


def sound_identity(result: object) -> tuple[Device, ...]:
    """A whole device and its partitions. Raises ContractError."""
    devices = sound_devices(result)
    if not devices:
        raise ContractError("a device was identified as nothing")
    return devices


def sound_readings(result: object, devices: tuple[Device, ...]) -> tuple[Reading, ...]:
    """Readings of these devices, the first one's among them, without impossible numbers.

    Raises ContractError.
    """
    if not isinstance(result, Sequence) or not all(isinstance(r, Reading) for r in result):
        raise ContractError(f"a sequence of readings was expected, not {_brief(result)}")
    known = {device.id for device in devices}
    strangers = {reading.device_id for reading in result} - known
    if strangers:
        raise ContractError(f"readings of unknown devices: {sorted(strangers)[:3]}")
    if devices[0].id not in {reading.device_id for reading in result}:
        raise ContractError(f"no reading of {devices[0].id}")
    readings = tuple(_sound_reading(reading) for reading in result)
    return _sendable(readings, tuple[Reading, ...])


def sound_events(result: object) -> tuple[ErrorEvent, ...]:
    """The newest MAX_EVENTS events. Raises ContractError."""
    if not isinstance(result, Sequence) or not all(isinstance(e, ErrorEvent) for e in result):
        raise ContractError(f"a sequence of events was expected, not {_brief(result)}")
    return _sendable(tuple(result[-MAX_EVENTS:]), tuple[ErrorEvent, ...])


def _sendable(data: _T, kind: type[_T]) -> _T:
    """The data after a trip through the wire form, which finds every wrong type inside it."""
    try:
        return msgspec.msgpack.decode(_encoder.encode(data), type=kind)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the data cannot be sent: {error}") from error


def _sound_reading(reading: Reading) -> Reading:
    bad = [series for series, value in reading.values.items() if not _possible(series, value)]
    if not bad:
        return reading
    values = {series: v for series, v in reading.values.items() if series not in bad}
    absent = {**reading.absent, **{series: Absence.ERROR for series in bad if _is_series(series)}}
    return msgspec.structs.replace(reading, values=values, absent=absent)


_checked: set[object] = set()
"""Series found to be sound; the same ones come at every turn."""
_MANY_SERIES = 20_000


def _is_series(series: object) -> bool:
    if series in _checked:
        return True
    sound = isinstance(series, tuple) and all(type(p) is str for p in series) and series != ()
    if sound and len(_checked) < _MANY_SERIES:
        _checked.add(series)
    return sound


def _possible(series: Series, value: Number) -> bool:
    if type(value) is float:
        return math.isfinite(value) and _is_series(series)
    if type(value) is int:
        return value in _INTEGERS and _is_series(series)
    return False


def _brief(thing: object) -> str:
    return f"{type(thing).__name__} {thing!r:.60}"
