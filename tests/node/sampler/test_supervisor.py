"""The agent's collector process: crashes, hangs, hold-outs and its end, with real child processes."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock, ManualClock, SystemClock
from accelwatch.node.sampler.launch import Child, spawn
from accelwatch.node.sampler.protocol.frames import encode, with_checksum
from accelwatch.node.sampler.protocol.settings import CollectSettings, StartOrder
from accelwatch.node.sampler.stores import store_for
from accelwatch.node.sampler.supervising import supervise
from accelwatch.node.sampler.supervisor import Limits, Supervisor
from accelwatch.node.store.reports import Heartbeat, Report
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import BackendState, Snapshot
from node.sampler.agents import PATIENT, Agent, has_gone, is_state, none_is_left, status, view
from node.sampler.fakes import FAKE, SECOND, TELLING
from support.processes.own_children import children
from support.processes.process_states import has_ended
from support.processes.waiting import GUARD_S, wait_until


@pytest.fixture
def start() -> Iterator[Callable[..., Agent]]:
    agents: list[Agent] = []

    def start_supervisor(
        options: dict[str, dict[str, Any]],
        limits: Limits = PATIENT,
        clock: Clock | None = None,
        **more: Any,
    ) -> Agent:
        settings = CollectSettings(
            backends=tuple(options),
            options=options,
            interval_s=0.1,
            timeout_s=0.3,
            rediscover_s=0.3,
            root="/nonexistent",
            **more,
        )
        agents.append(Agent(settings, limits=limits, clock=clock))
        return agents[-1]

    yield start_supervisor
    for agent in agents:
        agent.close()


def test_readings_flow_and_are_counted(start: Callable[..., Agent]) -> None:
    agent = start({FAKE: {"devices": [{"id": "0"}, {"id": "1"}]}})
    snapshot = agent.until(
        lambda s: (
            s.own.get(("collector_cycles_total", FAKE, "ok"), 0) >= 3
            and s.own["collector_up", FAKE] == 1
            and [v.state for v in s.devices] == [DeviceState.OK] * 2
        )
    )
    assert snapshot.own["exporter_sample_interval_seconds", "fake"] == 0.1
    assert snapshot.own["exporter_window_seconds",] == 60.0
    assert ("collector_last_success_timestamp_seconds", FAKE) in snapshot.own
    assert snapshot.own["collector_unavailable_quantities", FAKE, "unsupported"] > 0
    found = view(snapshot, "fake:0")
    assert found is not None
    assert found.reading.values["busy_seconds_total",] > 0
    assert found.reading.values["energy_joules_total", "integrated"] > 0
    assert found.reading.values["window_power_max_watts",] == 100.0
    agent.until(lambda s: s.own.get(("exporter_resident_memory_bytes", "collector"), 0) > 0)


def test_a_hung_device_is_unresponsive_and_the_others_go_on(start: Callable[..., Agent]) -> None:
    agent = start({FAKE: {"devices": [{"id": "0", "do": "hang"}, {"id": "1"}]}})
    snapshot = agent.until(is_state("fake:0", DeviceState.UNRESPONSIVE))
    before = snapshot.own.get(("collector_cycles_total", FAKE, "timeout"), 0)
    snapshot = agent.until(
        lambda s: (
            s.own.get(("collector_cycles_total", FAKE, "timeout"), 0) > before + 2
            and is_state("fake:1", DeviceState.OK)(s)
            and is_state("fake:0", DeviceState.UNRESPONSIVE)(s)
        )
    )
    hung, well = view(snapshot, "fake:0"), view(snapshot, "fake:1")
    assert hung is not None
    assert well is not None
    assert hung.reading.absent == {("*",): Absence.TIMEOUT}
    assert hung.health is Health.FAILED
    assert well.state is DeviceState.OK
    assert snapshot.own["collector_up", FAKE] == 0
    assert len(agent.children) == 1


def test_a_lost_device_stays_a_row_and_comes_back(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    agent = start({FAKE: {"devices": [{"id": "0", "do": f"lost_while={gone}"}, {"id": "1"}]}})
    agent.until(is_state("fake:0", DeviceState.OK))
    gone.touch()
    is_lost = is_state("fake:0", DeviceState.LOST)
    snapshot = agent.until(lambda s: is_lost(s) and s.own["collector_up", FAKE] == 1)
    lost = view(snapshot, "fake:0")
    assert lost is not None
    assert lost.device.model == "Fake 9000"
    assert lost.sample_time is not None
    gone.unlink()
    agent.until(is_state("fake:0", DeviceState.OK))


def test_a_device_that_is_not_discovered_again_is_lost_until_it_is(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    agent = start(
        {FAKE: {"gone_file": str(gone), "devices": [{"id": "0", "goes": True}, {"id": "1"}]}}
    )
    agent.until(is_state("fake:0", DeviceState.OK))
    gone.touch()
    snapshot = agent.until(is_state("fake:0", DeviceState.LOST))
    assert len(snapshot.devices) == 2
    gone.unlink()
    agent.until(is_state("fake:0", DeviceState.OK))


def test_a_crash_is_seen_and_readings_come_back(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    agent = start(
        {
            FAKE: {"devices": [{"id": "0", "do": f"segv_while={trap}"}]},
            SECOND: {"devices": [{"id": "9"}]},
        }
    )
    agent.until(is_state("fake:0", DeviceState.OK))
    trap.touch()
    snapshot = agent.until(lambda s: s.events)
    trap.unlink()
    assert snapshot.own["collector_up", FAKE] == 0
    assert snapshot.events[0].code == "collector_crash"
    assert snapshot.events[0].detail["code"] == "SIGSEGV"
    assert snapshot.events[0].detail["backends"] == FAKE
    assert snapshot.errors[-1].code == "SIGSEGV"
    agent.until(
        lambda s: (
            s.own.get(("collector_up", FAKE)) == s.own.get(("collector_up", SECOND)) == 1
            and is_state("fake:0", DeviceState.OK)(s)
            and is_state("fake:9", DeviceState.OK)(s)
            and s.errors == ()
        )
    )


def test_who_only_draws_starts_no_child_that_would_end_with_its_thread(
    start: Callable[..., Agent],
) -> None:
    agent = start({FAKE: {"devices": [{"id": "0"}]}})
    agent.until(is_state("fake:0", DeviceState.OK))
    os.kill(agent.children[-1], signal.SIGKILL)

    def is_buried() -> bool:
        agent.supervisor.receive()
        return agent.supervisor.stopped

    def draw() -> None:
        wait_until(is_buried)

    drawing = threading.Thread(target=draw)
    drawing.start()
    drawing.join()
    assert len(agent.children) == 1
    agent.until(lambda _: len(agent.children) == 2)
    agent.until(is_state("fake:0", DeviceState.OK))
    assert len(agent.children) == 2


def test_a_device_that_crashes_every_second_read_is_held_out_and_the_others_go_on(
    start: Callable[..., Agent],
) -> None:
    agent = start(
        {
            FAKE: {"devices": [{"id": "0", "do": "segv_every=2"}, {"id": "1"}]},
            SECOND: {"devices": [{"id": "9"}]},
        }
    )

    def is_held_out(snapshot: Snapshot) -> bool:
        found = view(snapshot, "fake:0")
        # On a busy machine it may have been late before it crashed.
        return found is not None and found.reading.absent == {("*",): Absence.ERROR}

    snapshot = agent.until(
        lambda s: (
            is_state("fake:0", DeviceState.UNRESPONSIVE)(s)
            and is_held_out(s)
            and is_state("fake:1", DeviceState.OK)(s)
            and s.own.get(("collector_up", SECOND)) == 1
            and s.events
        )
    )
    assert status(snapshot, FAKE).state is BackendState.OK
    held = view(snapshot, "fake:0")
    assert held is not None
    assert held.health is Health.UNKNOWN
    assert snapshot.own["collector_up", FAKE] == 0
    assert len(agent.children) == 2


def test_a_backend_that_crashes_when_opened_is_held_out(start: Callable[..., Agent]) -> None:
    agent = start({FAKE: {"open": "segv"}, SECOND: {"devices": [{"id": "9"}]}})
    snapshot = agent.until(lambda s: len(s.backends) == 2 and is_state("fake:9", DeviceState.OK)(s))
    assert status(snapshot, FAKE).state is BackendState.FAILED
    assert status(snapshot, FAKE).reason == "crash"
    assert status(snapshot, FAKE).vendor == ""


def test_a_call_that_holds_the_interpreter_gets_the_child_killed(
    start: Callable[..., Agent],
) -> None:
    agent = start(
        {FAKE: {"devices": [{"id": "0", "do": "spin"}]}},
        limits=msgspec.structs.replace(PATIENT, silence_s=1.0),
    )
    # One that stands still on a busy machine is killed too, outside any call.
    hang = {"code": "hang", "backends": FAKE}
    agent.until(lambda s: any(event.detail == hang for event in s.events))


def test_a_child_that_grows_too_big_is_replaced(start: Callable[..., Agent]) -> None:
    agent = start({FAKE: {}}, limits=msgspec.structs.replace(PATIENT, resident_bytes=1 << 20))
    snapshot = agent.until(lambda s: s.events)
    assert snapshot.events[0].detail["code"] == "memory"


def test_a_device_whose_call_fills_memory_is_held_out_and_the_others_go_on(
    start: Callable[..., Agent],
) -> None:
    agent = start(
        {FAKE: {"devices": [{"id": "0", "do": "grow=1000"}, {"id": "1"}]}},
    )
    # Where both were being read, a further child finds out which of them it was.
    snapshot = agent.until(
        lambda s: (
            s.events
            and s.events[-1].device_id == "fake:0"
            and is_state("fake:0", DeviceState.UNRESPONSIVE)(s)
            and is_state("fake:1", DeviceState.OK)(s)
        )
    )
    assert snapshot.events[-1].detail == {"code": "memory", "backends": FAKE}


def test_a_killed_child_is_replaced(start: Callable[..., Agent]) -> None:
    agent = start({FAKE: {}})
    agent.until(is_state("fake:0", DeviceState.OK))
    os.kill(agent.children[0], signal.SIGKILL)
    agent.until(lambda s: s.events and s.own.get(("collector_up", FAKE)) == 1)
    assert len(agent.children) == 2


@pytest.mark.parametrize("do", ["", "hang", "spin"])
def test_stopping_leaves_no_child(start: Callable[..., Agent], do: str) -> None:
    agent = start({FAKE: {"devices": [{"id": "0", "do": do}]}})
    agent.until(lambda s: s.devices)
    agent.supervisor.stop()
    assert agent.supervisor.stopped
    wait_until(lambda: has_gone(agent.children[0]))
    with pytest.raises(ChildProcessError):
        os.waitpid(agent.children[0], 0)


def test_an_orderly_end_closes_the_backends(start: Callable[..., Agent], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    # On its clock a child that is asked to end is never late.
    agent = start({FAKE: {"close_file": str(closed)}}, clock=ManualClock())
    agent.until(is_state("fake:0", DeviceState.OK))
    agent.supervisor.stop()
    assert closed.exists()


def test_a_child_whose_owner_is_gone_ends() -> None:
    """The owner of the pipes is killed; the end of the reports shows that the collector has gone."""
    settings = CollectSettings(backends=(FAKE,), interval_s=0.1, root="/nonexistent")
    reading, writing = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.set_inheritable(writing, True)
        child = spawn(StartOrder(settings=settings), os.environ)
        os.write(writing, b"%d\n" % child.process.pid)
        signal.pause()
        os._exit(0)
    os.close(writing)
    orphan = int(os.read(reading, 32))
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    wait_until(lambda: has_ended(orphan))
    os.close(reading)


def test_events_reach_the_store_with_their_device(start: Callable[..., Agent]) -> None:
    agent = start(
        {
            TELLING: {
                "devices": [{"id": "0", "pci": "0000:65:00.0"}],
                "subject": "0000:65:00",
                "flood": 600,
            }
        }
    )
    snapshot = agent.until(lambda s: s.devices and s.devices[0].event_counts)
    snapshot = agent.until(lambda s: s.devices[0].event_counts[0].total == 600)
    assert snapshot.events[-1].device_id == "fake:0"
    assert len(snapshot.events) == 512


def test_a_failing_event_source_does_not_stop_readings(start: Callable[..., Agent]) -> None:
    agent = start({TELLING: {"events": "raise"}})
    agent.until(lambda s: s.own.get(("collector_cycles_total", TELLING, "ok"), 0) >= 3)


def test_on_an_event_loop_it_runs_until_cancelled() -> None:
    others = children()
    settings = CollectSettings(backends=(FAKE,), interval_s=0.1, root="/nonexistent")
    store = store_for(settings, SystemClock())

    async def run() -> None:
        done = asyncio.Event()
        store.subscribe(lambda: done.set() if store.snapshot().devices else None)
        task = asyncio.create_task(supervise(settings, store.apply))
        async with asyncio.timeout(GUARD_S):
            await done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    wait_until(lambda: none_is_left(others))


def test_one_damaged_report_is_reported_and_the_collector_lives_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A child whose pipe the test writes: one frame that is no report, then one that is."""
    reading, writing = os.pipe()
    crash = os.memfd_create("crash") if hasattr(os, "memfd_create") else os.dup(writing)
    process = subprocess.Popen(["sleep", "60"])
    child = Child(process.pid, reading, None, crash)
    reports: list[Report] = []
    settings = CollectSettings(backends=(FAKE,), options={FAKE: {}})
    owner = Supervisor(settings, reports.append, launch=lambda _: child)
    try:
        owner.check()
        beat = Heartbeat(cpu_s=1.0, resident_bytes=1)
        os.write(writing, with_checksum(b"\0\0\0\x02\xc1\xc1") + with_checksum(encode(beat)))
        owner.receive()
        owner.receive()
        assert reports == [beat]
        assert owner.pid == process.pid
        assert caplog.messages == ["reports were damaged and left out count=1"]
    finally:
        owner.stop()
        os.close(writing)
        process.wait()


def test_a_child_loads_by_name_only_what_was_requested_by_name() -> None:
    """What nobody has named is loaded only where its hardware is (`sampler.load.absent`)."""
    orders: list[StartOrder] = []

    def launch(order: StartOrder) -> Child:
        orders.append(order)
        raise OSError

    for named in ((), ("nvidia",)):
        Supervisor(CollectSettings(backends=named), lambda _: None, launch=launch).check()
    assert [order.settings.backends for order in orders] == [(), ("nvidia",)]
