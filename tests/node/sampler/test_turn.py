"""One device's turn: what is asked for, what stands without asking, and what becomes of the answer."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended
from accelwatch.node.sampler.protocol.settings import QuarantinedComponent
from accelwatch.node.sampler.turns.turn import matches
from accelwatch.node.store.reports import Called, Component, Identified, Outcome, Returned
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from node.sampler.rig import Rig, Scripted

DEVICE = Device(
    id="n:0",
    vendor="v",
    backend="b",
    index=0,
    name="card0",
    uuid="GPU-0",
    serial="123",
    pci_bus_id="0000:65:00.0",
)


class Counting(Scripted):
    """Keeps every request, and has an address."""

    def __init__(self, devices: int = 1) -> None:
        super().__init__(devices)
        self.requests: list[Request] = []

    def discover(self) -> Sequence[Device]:
        return [
            Device(
                id=f"s:{n}",
                vendor="scripted",
                backend="scripted",
                index=n,
                name=f"s{n}",
                pci_bus_id=f"0000:0{n}:00.0",
            )
            for n in range(self.devices)
        ]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        self.requests.append(request)
        return super().read(device, request)


def outcomes(rig: Rig) -> list[Outcome]:
    return [report for report in rig.reports if isinstance(report, Outcome)]


@pytest.mark.parametrize("selector", ["n:0", "GPU-0", "123", "0000:65:00.0", "card0"])
def test_a_device_goes_by_each_of_its_names(selector: str) -> None:
    assert matches(DEVICE, (selector,))
    assert matches(DEVICE, ("other", selector))


@pytest.mark.parametrize("selectors", [(), ("card",), ("card00",), ("0",)])
def test_a_device_goes_by_no_other_name(selectors: tuple[str, ...]) -> None:
    assert not matches(DEVICE, selectors)


def test_calls_are_reported_by_what_they_do_and_on_whom() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.tick()
    calls = [call for call in rig.reports if isinstance(call, Called) and call.slot]
    assert [(call.backend, call.action, call.slot) for call in calls] == [
        ("scripted", "identify", "s:0"),
        ("scripted", "read", "s:0"),
        ("scripted", "read", "s:0"),
    ]


def test_an_identity_is_reported_with_its_slot() -> None:
    rig = Rig(Scripted())
    rig.backend.uuid = "GPU-7"
    rig.first_cycle()
    (identified,) = (report for report in rig.reports if isinstance(report, Identified))
    assert (identified.backend, identified.slot) == ("scripted", "s:0")
    assert [device.uuid for device in identified.devices] == ["GPU-7"]


@pytest.mark.parametrize("processes", [True, False])
def test_the_settings_reach_the_backend(processes: bool) -> None:
    backend = Counting()
    rig = Rig(backend, groups=frozenset({"ecc"}), argv=True, processes=processes)
    rig.first_cycle()
    (request,) = backend.requests
    assert (request.groups, request.argv, request.processes, request.slow) == (
        frozenset({"ecc"}),
        True,
        processes,
        True,
    )
    (outcome,) = outcomes(rig)
    assert ("processes",) not in outcome.readings[0].absent


def test_a_device_that_is_left_out_is_known_and_not_read() -> None:
    backend = Scripted(2)
    rig = Rig(backend, excluded=("s:1",))
    rig.first_cycle()
    rig.tick()
    assert {name for name, _ in backend.reads} == {"s:0"}
    left_out = [outcome.failure for outcome in outcomes(rig) if outcome.slot == "s:1"]
    assert [(f.absence, f.code, f.message) for f in left_out if f] == [
        (Absence.NOT_COLLECTED, "excluded", "left out by configuration")
    ] * 2
    assert rig.cycles() == ["ok", "ok"]


def test_a_device_that_is_left_out_by_what_only_it_can_report_is_identified_once() -> None:
    backend = Scripted()
    backend.uuid = "GPU-7"
    rig = Rig(backend, excluded=("GPU-7",))
    rig.first_cycle()
    assert (backend.identified, backend.reads) == (["s:0"], [])
    (outcome,) = outcomes(rig)
    assert outcome.failure is not None
    assert outcome.failure.code == "excluded"


def test_a_device_that_is_held_out_says_why() -> None:
    rig = Rig(
        Scripted(),
        quarantined=(
            QuarantinedComponent(component=Component("scripted", "s:0"), reason="it crashed"),
        ),
    )
    rig.first_cycle()
    (outcome,) = outcomes(rig)
    assert outcome.failure is not None
    failure = outcome.failure
    assert (failure.absence, failure.code, failure.message) == (
        Absence.ERROR,
        "crash",
        "it crashed",
    )
    assert rig.backend.reads == []


def test_a_call_that_is_out_is_reported_again_in_the_same_words() -> None:
    backend = Scripted()
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: backend.reads)
    rig.clock.advance(0.5)
    rig.first_cycle()
    rig.tick()
    messages = [outcome.failure.message for outcome in outcomes(rig) if outcome.failure]
    assert messages == ["driver call stuck", "driver call stuck"]


def test_a_device_whose_late_answer_came_says_so_until_its_pause_is_over() -> None:
    backend = Scripted()
    rig = Rig(backend)
    rig.first_cycle()
    for pause_s in (1.0, 0.5):
        gate = backend.gates["s:0"] = threading.Event()
        rig.clock.advance(pause_s)
        rig.until(lambda: len(rig.of(Called)) > len(rig.of(Returned)))
        rig.tick(0.5)
        backend.gates.pop("s:0")
        gate.set()
        rig.until(lambda: len(rig.of(Returned)) == len(rig.of(Called)))
    reads = len(backend.reads)
    rig.tick(0.5)
    (*_, last) = outcomes(rig)
    assert last.failure is not None
    assert (last.failure.absence, last.failure.code, last.failure.message) == (
        Absence.TIMEOUT,
        "timeout",
        "the last driver call returned too late",
    )
    assert len(backend.reads) == reads
    rig.tick()
    assert rig.outcomes()[-1] == ("s:0", None)


def test_a_device_that_failed_is_reported_by_its_failure_while_it_is_left_alone() -> None:
    rig = Rig(Scripted())
    rig.backend.error = DeviceLost("gone")
    rig.first_cycle()
    for _ in range(3):
        rig.tick()
    failures = [outcome.failure for outcome in outcomes(rig)]
    assert [(f.absence, f.message) for f in failures if f] == [(Absence.LOST, "gone")] * 4
    assert len(rig.backend.reads) == 3


def test_slow_quantities_of_a_device_that_failed_are_read_when_it_is_back() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.backend.error = DeviceLost("gone")
    rig.tick()
    rig.backend.error = None
    rig.tick()
    assert [slow for _, slow in rig.backend.reads] == [True, False, True]


def sleeping(root: Path, address: str) -> None:
    power = root / "sys/bus/pci/devices" / address / "power"
    power.mkdir(parents=True)
    (power / "runtime_status").write_text("suspended\n")


def test_a_device_that_sleeps_is_neither_identified_nor_read(tmp_path: Path) -> None:
    sleeping(tmp_path, "0000:01:00.0")
    backend = Counting(2)
    rig = Rig(backend, root=str(tmp_path))
    rig.first_cycle()
    assert (backend.identified, [name for name, _ in backend.reads]) == (["s:0"], ["s:0"])
    (failure,) = (outcome.failure for outcome in outcomes(rig) if outcome.slot == "s:1")
    assert failure is not None
    assert (failure.absence, failure.message) == (
        Absence.SUSPENDED,
        "0000:01:00.0 sleeps (power/runtime_status); it was not woken",
    )


def test_a_device_that_fell_asleep_is_not_read(tmp_path: Path) -> None:
    backend = Counting()
    rig = Rig(backend, root=str(tmp_path))
    rig.first_cycle()
    sleeping(tmp_path, "0000:00:00.0")
    rig.tick()
    assert len(backend.reads) == 1
    assert rig.outcomes()[-1] == ("s:0", Absence.SUSPENDED)


def test_a_device_that_sleeps_is_woken_for_who_wants_that(tmp_path: Path) -> None:
    sleeping(tmp_path, "0000:00:00.0")
    rig = Rig(Counting(), root=str(tmp_path), wake_suspended=True)
    rig.first_cycle()
    assert rig.outcomes() == [("s:0", None)]


def test_a_device_that_sleeps_is_read_where_that_wakes_nobody(tmp_path: Path) -> None:
    class Elsewhere(Counting):
        elsewhere = True

    class Light(Counting):
        def readable_asleep(self, device: Device) -> bool:
            return device.id == "s:0"

    sleeping(tmp_path, "0000:00:00.0")
    sleeping(tmp_path, "0000:01:00.0")
    away = Rig(Elsewhere(2), root=str(tmp_path))
    away.first_cycle()
    assert sorted(away.outcomes()) == [("s:0", None), ("s:1", None)]
    light = Rig(Light(2), root=str(tmp_path))
    light.first_cycle()
    assert dict(light.outcomes()) == {"s:0": None, "s:1": Absence.SUSPENDED}


def test_a_sleeping_device_is_identified_again_when_it_is_awake() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.backend.error = DeviceSuspended("sleeps")
    rig.tick()
    rig.backend.error = None
    rig.tick()
    assert rig.backend.identified == ["s:0", "s:0"]
    assert rig.outcomes() == [("s:0", None), ("s:0", Absence.SUSPENDED), ("s:0", None)]
