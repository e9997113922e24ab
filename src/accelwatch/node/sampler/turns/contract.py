"""What a backend returned is checked here before it is believed; a breach is an error with its name.

So is every number: one that the catalogue rules out becomes an `error` absence. A reading is encoded for
the check, and these bytes are what the owner gets.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

import msgspec

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.node.store.reports import Failure
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import (
    MAX_PROCESSES,
    Number,
    Process,
    Reading,
    cut_note,
    largest,
    unasked,
)
from accelwatch.schema.values.plausible import (
    SENTINELS,
    Limits,
    believed_process,
    fits,
    limits,
    refusal_text,
)

MAX_DEVICES = 1024
# Events accepted from one answer of an event source; the newest are kept.
MAX_EVENTS = 4096

_encoder = msgspec.msgpack.Encoder()
_decoders: dict[Any, Any] = {}
# Guards `_decoders`. Workers start together; each type's decoder is built once and kept, because
# building costs more than decoding. Types do not change, so an entry is never invalid.
_making = Lock()
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
    """Devices with distinct ids: where a driver gives several one, their PCI addresses.

    Raises ContractError.
    """
    devices = _sound_list(result)
    occurrences = Counter(device.id for device in devices)
    apart = tuple(
        msgspec.structs.replace(device, id=f"{device.vendor}:{device.pci_bus_id or device.name}")
        if occurrences[device.id] > 1
        else device
        for device in devices
    )
    return _distinct(apart)


def _distinct(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    if len({device.id for device in devices}) != len(devices):
        raise ContractError("two devices have the same id")
    return devices


def _sound_list(result: object) -> tuple[Device, ...]:
    if not isinstance(result, Sequence) or not all(isinstance(d, Device) for d in result):
        raise ContractError(f"a sequence of devices was expected, not {_brief(result)}")
    if len(result) > MAX_DEVICES:
        raise ContractError(f"{len(result)} devices are more than {MAX_DEVICES}")
    return _checked(tuple(result), tuple[Device, ...])[0]


def sound_identity(result: object) -> tuple[Device, ...]:
    """A whole device and its partitions. Raises ContractError."""
    devices = _distinct(_sound_list(result))
    if not devices:
        raise ContractError("a device was identified as nothing")
    return devices


def sound_readings(
    result: object, devices: tuple[Device, ...], groups: frozenset[str]
) -> tuple[Reading, ...]:
    """Readings of these devices, the first one's among them, without impossible numbers.

    A backend may give quantities of opt-in groups that are off, where it has them for nothing: they
    are left out here. Raises ContractError.
    """
    return _checked(_sound_list_of_readings(result, devices, groups), tuple[Reading, ...])[0]


def encoded_readings(
    result: object,
    devices: tuple[Device, ...],
    groups: frozenset[str],
    *,
    searched: bool = True,
) -> msgspec.Raw:
    """The same as bytes, for the owner; not `searched`: without processes, which were not waited for."""
    readings = _sound_list_of_readings(result, devices, groups)
    if not searched:
        readings = tuple(_without_processes(reading) for reading in readings)
    return msgspec.Raw(_checked(readings, tuple[Reading, ...])[1])


def _without_processes(reading: Reading) -> Reading:
    absent = {**reading.absent, ("processes",): Absence.TIMEOUT}
    return msgspec.structs.replace(reading, processes=None, absent=absent)


def _sound_list_of_readings(
    result: object, devices: tuple[Device, ...], groups: frozenset[str]
) -> tuple[Reading, ...]:
    if not isinstance(result, Sequence) or not all(isinstance(r, Reading) for r in result):
        raise ContractError(f"a sequence of readings was expected, not {_brief(result)}")
    expected = {device.id for device in devices}
    strangers = {reading.device_id for reading in result} - expected
    if strangers:
        raise ContractError(f"readings of unknown devices: {sorted(strangers)[:3]}")
    if devices[0].id not in {reading.device_id for reading in result}:
        raise ContractError(f"no reading of {devices[0].id}")
    off = unasked(groups)
    return tuple(_sound_reading(_requested_only(reading, off)) for reading in result)


def sound_events(result: object) -> tuple[ErrorEvent, ...]:
    """The newest MAX_EVENTS events. Raises ContractError."""
    if not isinstance(result, Sequence) or not all(isinstance(e, ErrorEvent) for e in result):
        raise ContractError(f"a sequence of events was expected, not {_brief(result)}")
    return _checked(tuple(result[-MAX_EVENTS:]), tuple[ErrorEvent, ...])[0]


def _decoder(kind: type[_T]) -> "msgspec.msgpack.Decoder[_T]":
    """The decoder of a type, made by one thread: msgspec 0.22 crashes when two make one at once."""
    with _making:
        made: msgspec.msgpack.Decoder[_T] | None = _decoders.get(kind)
        if made is None:
            made = _decoders[kind] = msgspec.msgpack.Decoder(kind)
        return made


def _checked(data: _T, kind: type[_T]) -> tuple[_T, bytes]:
    """The data after a trip through the wire form, which finds every wrong type inside it; its bytes."""
    try:
        body = _encoder.encode(data)
        return _decoder(kind).decode(body), body
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ContractError(f"the data cannot be sent: {error}") from error


def _requested_only(reading: Reading, off: frozenset[str]) -> Reading:
    """The reading without quantities that are off; they become `not_collected`."""
    spare = [series for series in reading.values if series[:1] and series[0] in off]
    untrue = [
        series
        for series, reason in reading.absent.items()
        if series[:1] and series[0] in off and reason is not Absence.NOT_COLLECTED
    ]
    if not spare and not untrue:
        return reading
    return msgspec.structs.replace(
        reading,
        values={series: value for series, value in reading.values.items() if series not in spare},
        absent={s: reason for s, reason in reading.absent.items() if s not in untrue},
    )


def _sound_reading(reading: Reading) -> Reading:
    values = reading.values
    bad = [series for series, value in values.items() if not _possible(series, value, values)]
    processes, notes = reading.processes, reading.notes
    if isinstance(processes, tuple) and all(isinstance(p, Process) for p in processes):
        if len(processes) > MAX_PROCESSES:
            notes = (*notes, cut_note(MAX_PROCESSES, len(processes)))
            processes = tuple(largest(processes))
        processes = tuple([believed_process(process) for process in processes])
    if not bad:
        if not processes:
            return reading
        return msgspec.structs.replace(reading, processes=processes, notes=notes)
    named = [series for series in bad if _limits_of(series) is not None]
    return msgspec.structs.replace(
        reading,
        values={series: v for series, v in values.items() if series not in bad},
        absent={**reading.absent, **dict.fromkeys(named, Absence.ERROR)},
        processes=processes,
        notes=notes,
        implausible={series: refusal_text(series, values[series]) for series in named},
    )


# Limits of series found to be sound; the same ones come at every turn.
_cached_limits: dict[object, Limits] = {}
_MANY_SERIES = 20_000


def _limits_of(series: object) -> Limits | None:
    """What a series may be; None for what is no series."""
    limit = _cached_limits.get(series)
    if limit is not None:
        return limit
    if not isinstance(series, tuple) or series == () or not all(type(p) is str for p in series):
        return None
    limit = limits(series)
    if len(_cached_limits) < _MANY_SERIES:
        _cached_limits[series] = limit
    return limit


def _possible(series: Series, value: Number, values: Mapping[Series, Number]) -> bool:
    if type(value) is not float and type(value) is not int:
        return False
    limit = _limits_of(series)
    if limit is None or value in SENTINELS:
        return False
    low, high, integer = limit
    return low <= value <= high and (integer is None or fits(value, integer, values))


def _brief(value: object) -> str:
    return f"{type(value).__name__} {value!r:.60}"
