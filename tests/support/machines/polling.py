"""Polls a backend as the sampler would, on the test's own thread."""

from collections.abc import Sequence

import msgspec

from accelwatch.backend import Backend, Request
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.node.sampler.turns.contract import sound_readings
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading

EVERYTHING = Request(groups=frozenset(opt_in_groups()))


class Polled(msgspec.Struct):
    """One device after one round: its identity, and its readings or why there are none."""

    found: Device
    identity: Sequence[Device] = ()
    readings: Sequence[Reading] = ()
    error: ReadError | None = None


class PolledMachine(msgspec.Struct):
    """What a machine's backend is called, and what it read in four rounds."""

    backend: str
    rounds: list[list[Polled]]


class Poll:
    """One call is one round over all devices, after which a second passes.

    What a backend raises that is no ReadError escapes, and so fails the test.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def __call__(self, backend: Backend, request: Request = EVERYTHING) -> list[Polled]:
        polled = []
        for device in backend.discover():
            one = Polled(device)
            polled.append(one)
            try:
                one.identity = tuple(backend.identify(device))
                one.readings = tuple(backend.read(one.identity[0], request))
            except ReadError as error:
                one.error = error
        self._clock.advance(1.0)
        return polled


def loss(backend: Backend, clock: ManualClock, device: Device) -> DeviceLost:
    """Why a device is lost once several answers leave it out; before that it cannot be read."""
    failures: list[ReadError] = []
    for _ in range(RUNS):
        try:
            backend.identify(device)
        except ReadError as error:
            failures.append(error)
        clock.advance(10.0)
    assert [isinstance(error, DeviceLost) for error in failures] == [False] * (RUNS - 1) + [True]
    last = failures[-1]
    assert isinstance(last, DeviceLost)
    return last


def identities(polled: Sequence[Polled]) -> list[Device]:
    """Identified devices with partitions; the provisional one where identifying failed."""
    found: list[Device] = []
    for one in polled:
        found += one.identity or (one.found,)
    return found


def assert_all_believed(devices: Sequence[Device], found: Sequence[Reading]) -> None:
    """What a real or composed device answered passes the look at every number."""
    for reading in sound_readings(tuple(found), tuple(devices), frozenset(opt_in_groups())):
        assert reading.implausible == {}


def readings(polled: Sequence[Polled]) -> list[Reading]:
    """All readings of a round."""
    return [reading for one in polled for reading in one.readings]
