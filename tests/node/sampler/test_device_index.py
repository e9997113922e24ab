"""The slots of a backend: who is called from which thread, and what becomes of a device that went."""

import threading

from accelwatch.node.store.reports import Called, Slots
from accelwatch.schema.device import Device
from node.sampler.rig import Rig, Scripted
from support.processes.waiting import GUARD_S


def threads(rig: Rig) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for report in rig.reports:
        if isinstance(report, Called) and report.slot:
            found.setdefault(report.slot, set()).add(report.thread)
    return found


def test_devices_that_get_on_are_called_from_one_thread() -> None:
    rig = Rig(Scripted(2))
    rig.first_cycle(in_turn=True)
    rig.tick(in_turn=True)
    found = threads(rig)
    assert found["s:0"] == found["s:1"]
    assert len(found["s:0"]) == 1


def test_devices_that_take_long_are_called_from_threads_of_their_own() -> None:
    backend = Scripted(3)
    gates = [backend.gates.setdefault(f"s:{n}", threading.Event()) for n in range(3)]
    rig = Rig(backend)
    rig.until(lambda: len(backend.reads) == 3)
    read = [call for call in rig.reports if isinstance(call, Called) and call.action == "read"]
    assert len({call.thread for call in read}) == 3
    names = {thread.name for thread in threading.enumerate()}
    assert {"turns", "scripted:s:1", "scripted:s:2"} <= names
    for gate in gates:
        gate.set()
    rig.first_cycle()


def test_devices_of_a_serial_driver_are_called_from_one_thread() -> None:
    rig = Rig(Scripted(2, serial=True))
    rig.first_cycle()
    rig.tick()
    found = threads(rig)
    assert found["s:0"] == found["s:1"]
    assert len(found["s:0"]) == 1


def test_what_was_discovered_is_reported_under_the_backend_s_name() -> None:
    rig = Rig(Scripted(2))
    rig.first_cycle()
    (slots,) = (report for report in rig.reports if isinstance(report, Slots))
    assert slots.backend == "scripted"
    assert [device.id for device in slots.devices] == ["s:0", "s:1"]


def rediscover(rig: Rig) -> None:
    """Have the devices looked for again, and one more cycle end."""
    before = len(rig.of(Slots))
    for _ in range(4):
        rig.tick(3.0)
    rig.until(lambda: len(rig.of(Slots)) > before)
    rig.tick()


def test_a_device_that_went_is_read_no_more_and_its_thread_ends() -> None:
    backend = Scripted(3)
    go = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: len(backend.reads) == 3)
    assert "scripted:s:1" in {thread.name for thread in threading.enumerate()}
    go.set()
    rig.first_cycle()
    backend.devices = 1
    rediscover(rig)
    reads = len([name for name, _ in backend.reads if name == "s:1"])
    rig.tick()
    assert len([name for name, _ in backend.reads if name == "s:1"]) == reads
    rediscover(rig)  # a call that was out when it went had to come back first
    for thread in threading.enumerate():
        if thread.name == "scripted:s:1":
            thread.join(GUARD_S)
    assert "scripted:s:1" not in {thread.name for thread in threading.enumerate()}
    assert [name for name, _ in backend.reads][-1] == "s:0"


def test_a_device_that_is_back_is_identified_and_read() -> None:
    backend = Scripted(2)
    rig = Rig(backend)
    rig.first_cycle()
    backend.devices = 1
    rediscover(rig)
    backend.devices = 2
    rediscover(rig)
    assert backend.identified.count("s:1") == 2
    assert rig.outcomes()[-1][1] is None
    assert {slot for slot, _ in rig.outcomes()[-2:]} == {"s:0", "s:1"}


def test_a_device_that_hangs_while_it_goes_and_comes_is_not_called_twice() -> None:
    backend = Scripted(2)
    gate = backend.gates["s:1"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: ("s:1", True) in backend.reads)
    rig.clock.advance(0.5)
    rig.first_cycle()
    backend.devices = 1
    rediscover(rig)
    backend.devices = 2
    rediscover(rig)
    assert [name for name, _ in backend.reads].count("s:1") == 1
    backend.gates.pop("s:1")
    gate.set()

    def is_read_again() -> bool:
        # The call returns on a thread of its own: nobody knows in which cycle it is seen.
        rig.tick()
        return [name for name, _ in backend.reads].count("s:1") > 1

    rig.until(is_read_again)


def test_a_device_is_known_by_what_was_discovered_last() -> None:
    class Moving(Scripted):
        index = 5

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[int] = []

        def discover(self) -> list[Device]:
            return [
                Device(id="s:0", vendor="scripted", backend="scripted", index=self.index, name="s0")
            ]

        def identify(self, device: Device) -> list[Device]:
            self.seen.append(device.index)
            return [device]

    backend = Moving()
    rig = Rig(backend)
    rig.first_cycle()
    backend.index = 6
    rediscover(rig)
    assert backend.seen == [5, 6]


def test_a_backend_that_goes_down_leaves_no_call_unmade() -> None:
    backend = Scripted(3)
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: rig.of(Slots))
    rig.collector.close()
    backend.gates["s:0"].set()
    assert sorted(threads(rig)) == ["s:0", "s:1", "s:2"]
