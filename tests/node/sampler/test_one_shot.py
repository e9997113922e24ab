"""One reading of everything: complete by its deadline, whatever one driver does."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.base.exit_codes import FAILED
from accelwatch.cli.node.documents import status as status_code
from accelwatch.node.sampler import launch
from accelwatch.node.sampler.one_shot import Isolation, read_once
from accelwatch.node.sampler.protocol.call_registry import calls_out
from accelwatch.node.sampler.protocol.settings import CollectSettings, StartOrder
from accelwatch.node.sampler.stores import store_for
from accelwatch.node.store import Store
from accelwatch.node.store.reports import Identified, Outcome, Report
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import MAX_PROCESSES
from accelwatch.schema.snapshot import BackendState, DeviceView, Snapshot
from node.sampler.agents import AheadClock, none_is_left
from node.sampler.fakes import ELSEWHERE, FAKE, LIGHT_SLEEPER, SECOND, SERIAL, TELLING, runs_sleep
from support.processes.own_children import children
from support.processes.waiting import wait_until


def settings(
    options: dict[str, dict[str, Any]], *backends: str, timeout_s: float = 300.0
) -> CollectSettings:
    return CollectSettings(
        backends=backends or tuple(options),
        options=options,
        timeout_s=timeout_s,
        root="/nonexistent",
    )


def shot(
    devices: list[dict[str, Any]], timeout_s: float = 300.0, backend: str = FAKE, **more: Any
) -> Snapshot:
    return read_once(settings({backend: {"devices": devices, **more}}, timeout_s=timeout_s))


def view(snapshot: Snapshot, number: str) -> DeviceView:
    return next(v for v in snapshot.devices if v.device.id == f"fake:{number}")


def state(snapshot: Snapshot, number: str) -> tuple[DeviceState, dict[Any, Absence]]:
    found = view(snapshot, number)
    return found.state, found.reading.absent


@pytest.mark.parametrize("isolation", ["fork", "exec", "thread"])
def test_healthy_devices_are_read_whole(isolation: Isolation) -> None:
    snapshot = read_once(
        settings({FAKE: {"devices": [{"id": "0"}, {"id": "1"}]}}), isolation=isolation
    )
    assert [v.device.id for v in snapshot.devices] == ["fake:0", "fake:1"]
    for v in snapshot.devices:
        assert v.state is DeviceState.OK
        assert v.health is Health.OK
        assert v.device.model == "Fake 9000"
        assert v.reading.values["utilization_ratio",] == 0.5
        assert v.reading.absent["fan_speed_ratio",] is Absence.UNSUPPORTED
        assert v.reading.absent["busy_seconds_total",] is Absence.NOT_COLLECTED
        assert v.reading.absent["energy_joules_total",] is Absence.NOT_COLLECTED
    assert snapshot.backends[0].state is BackendState.OK
    assert snapshot.errors == ()
    assert snapshot.interval_s is None


When = Callable[[Callable[[Report], bool]], AheadClock]


@pytest.fixture
def when(monkeypatch: pytest.MonkeyPatch) -> When:
    """A clock on which time is up once a report shows what a test waits for."""
    clock = AheadClock()

    def with_condition(condition: Callable[[Report], bool]) -> AheadClock:
        def watched(settings: CollectSettings, its_clock: Clock) -> Store:
            store = store_for(settings, its_clock)
            apply = store.apply

            def watch(report: Report) -> None:
                apply(report)
                if condition(report):
                    clock.advance(3600.0)

            monkeypatch.setattr(store, "apply", watch)
            return store

        monkeypatch.setattr("accelwatch.node.sampler.stores.store_for", watched)
        return clock

    return with_condition


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[tuple[str, str]]]:
    """What the latest child is calling now, as (device, action)."""
    crash_files: list[int] = []

    class Noted(launch.Child):
        def __init__(
            self, pid: int, reports: int, orders: int | None, crash: int, *more: Any
        ) -> None:
            super().__init__(pid, reports, orders, crash, *more)
            crash_files.append(crash)

    monkeypatch.setattr(launch, "Child", Noted)
    return lambda: {(call.slot, call.action) for call in calls_out(crash_files[-1])}


def test_one_hung_device_of_eight_costs_only_its_row(when: When) -> None:
    devices = [{"id": str(n), "do": "hang" if n == 3 else ""} for n in range(8)]
    reported: set[tuple[type[Report], str]] = set()

    def all_but_one_read(report: Report) -> bool:
        if isinstance(report, Outcome | Identified):
            reported.add((type(report), report.slot))
        return len(reported) == 8 + 7

    snapshot = read_once(
        settings({FAKE: {"devices": devices}}, timeout_s=600.0), clock=when(all_but_one_read)
    )
    assert state(snapshot, "3") == (DeviceState.UNRESPONSIVE, {("*",): Absence.TIMEOUT})
    assert view(snapshot, "3").device.model == "Fake 9000"
    assert [v.state for v in snapshot.devices].count(DeviceState.OK) == 7
    assert [e.code for e in snapshot.errors] == ["timeout"]


def test_all_devices_hung_still_gives_a_document(
    when: When, reading: Callable[[], set[tuple[str, str]]]
) -> None:
    devices = [{"id": "0", "do": "hang"}, {"id": "1", "identify": "hang"}]

    def both_called(report: Report) -> bool:
        if not isinstance(report, Identified):
            return False
        wait_until(lambda: {("fake:0", "read"), ("fake:1", "identify")} <= reading())
        return True

    clock = when(both_called)
    snapshot = read_once(settings({FAKE: {"devices": devices}}, timeout_s=600.0), clock=clock)
    assert [v.state for v in snapshot.devices] == [DeviceState.UNRESPONSIVE] * 2
    assert view(snapshot, "1").device.model is None


def test_a_call_that_holds_the_interpreter_does_not_hold_the_document(
    when: When, reading: Callable[[], set[tuple[str, str]]]
) -> None:
    devices = [{"id": "0", "do": "spin"}, {"id": "1", "do": "spin"}]

    def called(report: Report) -> bool:
        if not isinstance(report, Identified):
            return False
        wait_until(lambda: any(action == "read" for _, action in reading()))
        return True

    clock = when(called)
    snapshot = read_once(settings({FAKE: {"devices": devices}}, timeout_s=600.0), clock=clock)
    assert {v.state for v in snapshot.devices} == {DeviceState.UNRESPONSIVE}
    assert {v.reading.absent["*",] for v in snapshot.devices} == {Absence.TIMEOUT}


def test_a_backend_that_hangs_in_open_costs_only_itself() -> None:
    snapshot = read_once(settings({FAKE: {}, SECOND: {"open": "hang"}}, timeout_s=10.0))
    assert [v.state for v in snapshot.devices] == [DeviceState.OK]
    second = next(b for b in snapshot.backends if b.name == SECOND)
    assert (second.state, second.reason) == (BackendState.UNAVAILABLE, "timeout")
    assert second.vendor == "fake"


@pytest.mark.parametrize(
    ("what", "expected", "reason"),
    [
        ("lost", DeviceState.LOST, Absence.LOST),
        ("permission", DeviceState.EXCLUDED, Absence.PERMISSION),
        ("error", DeviceState.DEGRADED, Absence.ERROR),
        ("raise", DeviceState.DEGRADED, Absence.ERROR),
        ("exit", DeviceState.DEGRADED, Absence.ERROR),
        ("nothing", DeviceState.DEGRADED, Absence.ERROR),
        ("stranger", DeviceState.DEGRADED, Absence.ERROR),
        ("empty", DeviceState.DEGRADED, Absence.ERROR),
        ("text", DeviceState.DEGRADED, Absence.ERROR),
        ("surrogate", DeviceState.DEGRADED, Absence.ERROR),
    ],
)
def test_a_failed_device_is_a_row_with_its_reason(
    what: str, expected: DeviceState, reason: Absence
) -> None:
    snapshot = shot([{"id": "0", "do": what}, {"id": "1"}])
    assert state(snapshot, "0") == (expected, {("*",): reason})
    assert view(snapshot, "1").state is DeviceState.OK
    assert [e.device_id for e in snapshot.errors] == ["fake:0"]


def test_impossible_values_become_errors_and_the_rest_stays() -> None:
    reading = view(shot([{"id": "0", "do": "impossible"}]), "0").reading
    assert reading.values["utilization_ratio",] == 0.5
    assert reading.absent["memory_used_bytes",] is Absence.ERROR
    assert reading.absent["memory_size_bytes",] is Absence.ERROR
    assert reading.absent["temperature_celsius", "gpu"] is Absence.ERROR


def test_a_crowd_of_processes_is_cut_whatever_the_backend() -> None:
    reading = view(shot([{"id": "0", "do": "crowd=100000"}]), "0").reading
    assert reading.processes is not None
    assert [p.pid for p in reading.processes] == [*range(100_000 - MAX_PROCESSES + 1, 100_001)]
    assert reading.notes == (
        f"processes are cut: {MAX_PROCESSES} of 100000, those with the most memory",
    )
    assert reading.values["utilization_ratio",] == 0.5


@pytest.mark.parametrize("what", ["segv", "segv_process"])
def test_a_crash_costs_the_device_that_crashed(what: str) -> None:
    snapshot = read_once(
        settings(
            {
                FAKE: {"devices": [{"id": "0", "do": what}, {"id": "1"}]},
                SECOND: {"devices": [{"id": "9", "do": "slow=0.2"}]}
                if what == "segv"
                else {"absent": True},
            },
        )
    )
    crashed = view(snapshot, "0")
    assert crashed.state is DeviceState.UNRESPONSIVE
    assert crashed.reading.absent == {("*",): Absence.ERROR}
    assert crashed.health is Health.UNKNOWN
    assert view(snapshot, "1").state is DeviceState.OK
    status = next(b for b in snapshot.backends if b.name == FAKE)
    assert status.state is BackendState.OK
    crashes = [(e.code, e.device_id) for e in snapshot.events]
    # A signal to the process may meet any thread: with both devices inside, the crash after it tells.
    unsure = [("collector_crash", "")] if what == "segv_process" else []
    assert crashes in ([("collector_crash", "fake:0")], [*unsure, ("collector_crash", "fake:0")])
    assert [(e.code, e.device_id) for e in snapshot.errors] == [("crash", "fake:0")]
    assert "SIGSEGV" in snapshot.errors[0].message
    if what == "segv":
        assert view(snapshot, "9").state is DeviceState.OK


@pytest.mark.parametrize(
    ("what", "isolation"),
    [
        ("stop", "fork"),
        ("stop", "exec"),
        # A fork of the tests has pipes of the tests, too.
        ("noise=NVRM: hello", "exec"),
        ("noise=", "exec"),
    ],
)
def test_a_library_that_stops_us_or_writes_among_our_reports_costs_nothing(
    what: str, isolation: Isolation
) -> None:
    devices = [{"id": "0"}, {"id": "1", "do": what}, {"id": "2"}]
    snapshot = read_once(
        settings({FAKE: {"devices": devices}, SECOND: {"devices": [{"id": "9", "do": what}]}}),
        isolation=isolation,
    )
    assert {view.state for view in snapshot.devices} == {DeviceState.OK}
    assert len(snapshot.devices) == 4
    assert snapshot.errors == ()


@pytest.mark.parametrize("isolation", ["fork", "exec"])
@pytest.mark.parametrize("what", ["close", "close_and_open"])
def test_a_library_that_closes_our_descriptors_costs_its_device(
    what: str, isolation: Isolation
) -> None:
    devices = [{"id": "0"}, {"id": "1", "do": what}, {"id": "2"}]
    snapshot = read_once(
        settings({FAKE: {"devices": devices}, SECOND: {"devices": [{"id": "9"}]}}),
        isolation=isolation,
    )
    assert state(snapshot, "1") == (DeviceState.UNRESPONSIVE, {("*",): Absence.ERROR})
    well = {view.device.id for view in snapshot.devices if view.state is DeviceState.OK}
    assert well == {"fake:0", "fake:2", "fake:9"}
    assert [(e.code, e.device_id) for e in snapshot.errors] == [("crash", "fake:1")]
    assert "a library closed the pipe for reports" in snapshot.errors[0].message


def test_a_collector_that_something_else_stops_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = launch.fork

    def stopped(order: StartOrder) -> launch.Child:
        child = fork(order)
        os.kill(child.process.pid, signal.SIGSTOP)
        return child

    monkeypatch.setattr(launch, "fork", stopped)
    snapshot = read_once(settings({FAKE: {"devices": [{"id": "0"}]}}), isolation="fork")
    assert state(snapshot, "0")[0] is DeviceState.OK


def test_a_crash_while_opening_is_reported_as_the_backends_failure() -> None:
    snapshot = read_once(settings({FAKE: {"open": "segv"}, SECOND: {"devices": [{"id": "9"}]}}))
    status = next(b for b in snapshot.backends if b.name == FAKE)
    assert (status.state, status.reason) == (BackendState.FAILED, "SIGSEGV")
    assert status.message == f"the collector process ended with SIGSEGV during open of {FAKE}"
    assert status.remedy.startswith("look for a fault of the driver's library")
    assert view(snapshot, "9").state is DeviceState.OK


@pytest.mark.parametrize(
    ("options", "expected", "reason"),
    [
        ({"absent": True}, BackendState.ABSENT, "absent"),
        ({"open": "unavailable"}, BackendState.UNAVAILABLE, "library_missing"),
        ({"open": "raise"}, BackendState.FAILED, "error"),
        ({"probe": "raise"}, BackendState.FAILED, "error"),
        ({"discover": "raise"}, BackendState.FAILED, "error"),
        ({"devices": []}, BackendState.OK, ""),
        ({"devices": [{"id": "0"}, {"id": "0"}]}, BackendState.FAILED, "contract"),
    ],
)
def test_a_backend_without_devices_says_why(
    options: dict[str, Any], expected: BackendState, reason: str
) -> None:
    snapshot = read_once(settings({FAKE: options}))
    assert snapshot.devices == ()
    assert [(b.state, b.reason) for b in snapshot.backends] == [(expected, reason)]
    assert snapshot.backends[0].vendor == "fake"


def test_an_unknown_backend_is_a_failed_backend() -> None:
    snapshot = read_once(settings({}, "node.sampler.fakes:Nowhere"))
    assert [(b.state, b.reason) for b in snapshot.backends] == [(BackendState.FAILED, "plugin")]


def test_a_serial_driver_that_hangs_makes_the_devices_behind_late_and_no_more(
    when: When, reading: Callable[[], set[tuple[str, str]]]
) -> None:
    devices = [{"id": "0"}, {"id": "1", "do": "hang"}, {"id": "2"}]

    def first_read(report: Report) -> bool:
        if not (isinstance(report, Outcome) and report.slot == "fake:0"):
            return False
        wait_until(lambda: ("fake:1", "read") in reading())
        return True

    chosen = settings({SERIAL: {"devices": devices}}, timeout_s=600.0)
    snapshot = read_once(chosen, clock=when(first_read))
    assert [v.state for v in snapshot.devices] == [
        DeviceState.OK,
        DeviceState.UNRESPONSIVE,
        DeviceState.UNRESPONSIVE,
    ]


def test_an_excluded_device_is_a_row_that_is_not_read() -> None:
    chosen = CollectSettings(
        backends=(FAKE,),
        excluded=("uuid-0",),
        timeout_s=300.0,
        options={FAKE: {"devices": [{"id": "0", "do": "segv"}, {"id": "1"}]}},
    )
    snapshot = read_once(chosen)
    assert state(snapshot, "0") == (DeviceState.EXCLUDED, {("*",): Absence.NOT_COLLECTED})
    assert view(snapshot, "1").state is DeviceState.OK
    assert snapshot.errors == ()


def test_a_sleeping_device_is_not_woken(tmp_path: Any) -> None:
    power = tmp_path / "sys/bus/pci/devices/0000:65:00.0/power"
    power.mkdir(parents=True)
    (power / "runtime_status").write_text("suspended\n")
    asleep = {"id": "0", "pci": "0000:65:00.0", "do": "segv", "identify": "segv"}
    chosen = CollectSettings(
        backends=(FAKE,), timeout_s=300.0, root=str(tmp_path), options={FAKE: {"devices": [asleep]}}
    )
    snapshot = read_once(chosen)
    assert state(snapshot, "0") == (DeviceState.SUSPENDED, {("*",): Absence.SUSPENDED})
    assert snapshot.errors == ()


def test_a_device_that_is_elsewhere_is_not_looked_up_in_this_machine(tmp_path: Any) -> None:
    power = tmp_path / "sys/bus/pci/devices/0000:65:00.0/power"
    power.mkdir(parents=True)
    (power / "runtime_status").write_text("suspended\n")
    recorded = {"id": "0", "pci": "0000:65:00.0"}
    chosen = CollectSettings(
        backends=(ELSEWHERE,),
        timeout_s=300.0,
        root=str(tmp_path),
        options={ELSEWHERE: {"devices": [recorded]}},
    )
    assert state(read_once(chosen), "0")[0] is DeviceState.OK


def test_a_device_that_answers_asleep_is_read_and_its_neighbour_is_not(tmp_path: Any) -> None:
    for bus in ("65", "66"):
        power = tmp_path / f"sys/bus/pci/devices/0000:{bus}:00.0/power"
        power.mkdir(parents=True)
        (power / "runtime_status").write_text("suspended\n")
    asleep = [{"id": "npu", "pci": "0000:65:00.0"}, {"id": "gpu", "pci": "0000:66:00.0"}]
    chosen = CollectSettings(
        backends=(LIGHT_SLEEPER,),
        timeout_s=300.0,
        root=str(tmp_path),
        options={LIGHT_SLEEPER: {"devices": asleep}},
    )
    snapshot = read_once(chosen)
    assert state(snapshot, "npu")[0] is DeviceState.OK
    assert state(snapshot, "gpu")[0] is DeviceState.SUSPENDED


def test_partitions_follow_their_parent() -> None:
    snapshot = shot([{"id": "0", "partitions": ["p1", "p0"]}, {"id": "1"}])
    assert [v.device.id for v in snapshot.devices] == ["fake:0", "fake:0/p1", "fake:0/p0", "fake:1"]
    assert snapshot.devices[1].reading.values["utilization_ratio",] == 0.25


def test_events_of_a_source_without_devices_are_read_once() -> None:
    snapshot = read_once(settings({TELLING: {"devices": []}}))
    assert [e.code for e in snapshot.events] == ["xid_79"]


def test_a_collector_that_fails_itself_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug in the collector")

    monkeypatch.setattr("accelwatch.node.sampler.child.collect", fail)
    snapshot = read_once(settings({FAKE: {}}), isolation="fork")
    assert [e.code for e in snapshot.errors] == ["exit_1"]
    assert "a bug in the collector" in snapshot.errors[0].message


class TimeIsUp:
    """A clock on which a minute passes at every look."""

    def __init__(self) -> None:
        self._now = 0.0

    def wall(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        self._now += 60.0
        return self._now


def test_a_backend_of_which_nothing_came_in_time_is_not_absent() -> None:
    snapshot = read_once(settings({FAKE: {}, SECOND: {}}, timeout_s=0.1), clock=TimeIsUp())
    assert [(b.name, b.state, b.reason) for b in snapshot.backends] == [
        (name, BackendState.UNAVAILABLE, "timeout") for name in (FAKE, SECOND)
    ]
    assert snapshot.backends[0].message == "nothing answered within 0.1 s"
    assert status_code(snapshot, strict=False) == FAILED


def test_where_no_process_can_be_started_a_thread_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("accelwatch.node.sampler.launch.fork", fail)
    monkeypatch.setattr("accelwatch.node.sampler.launch.spawn", fail)
    snapshot = read_once(settings({FAKE: {}}))
    assert [v.state for v in snapshot.devices] == [DeviceState.OK]
    with pytest.raises(BlockingIOError):
        read_once(settings({FAKE: {}}), isolation="fork")


@pytest.mark.parametrize("also", ["", "spin"])
def test_a_command_that_never_ends_is_ended(when: When, also: str) -> None:
    seconds = f"97.{os.getpid()}"
    devices = [
        {"id": "0", "do": f"command={seconds}"},
        {"id": "1", "do": also and f"{also}={seconds}"},
    ]

    def runs(report: Report) -> bool:
        if not (isinstance(report, Identified) and report.slot == "fake:0"):
            return False
        wait_until(lambda: runs_sleep(seconds))
        return True

    snapshot = read_once(settings({FAKE: {"devices": devices}}, timeout_s=600.0), clock=when(runs))
    assert view(snapshot, "0").state is DeviceState.UNRESPONSIVE
    wait_until(lambda: not runs_sleep(seconds))


def test_no_child_is_left_behind() -> None:
    others = children()
    for _ in range(3):
        shot([{"id": "0"}])
    wait_until(lambda: none_is_left(others))


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys; import accelwatch.node.sampler.one_shot, accelwatch.node.sampler.stores;"
        "print([m for m in ('asyncio', 'subprocess', 'typer', 'rich', 'textual', 'aiohttp', 'numpy',"
        " 'importlib.metadata', 'ctypes', 'pynvml', 'psutil') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
