"""Scenarios: composed devices, values over time, and every fault that can be played."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.node.sampler.turns.contract import sound_readings
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_lab.replay import ReplayBackend
from accelwatch_lab.scenario.faults import NODE_KINDS
from support.processes.waiting import GUARD_S

GROUP = """
scenario: 1
devices:
  - vendor: nvidia
    model: H100
    count: 2
    pci_bus_id: "0000:ff:00.0"
    values:
      power_watts: 500
      temperature_celsius: {gpu: 61, memory: 70}
      memory_size_bytes: 80GiB
    processes: [{pid: 100, command: train, gpu_memory_bytes: 2GiB}]
"""


class Stage:
    """A scenario being played under a clock that the test moves."""

    def __init__(self, folder: Path, text: str, **options: object) -> None:
        path = folder / "scenario.yaml"
        path.write_text(text)
        self.clock = ManualClock()
        context = Context(clock=self.clock, options={"file": str(path), **options})
        self.backend = ReplayBackend(context)
        self.backend.open()

    def device(self, name: str = "nvidia0") -> Device:
        return next(one for one in self.backend.discover() if one.name == name)

    def read(self, name: str = "nvidia0", request: Request | None = None) -> Reading:
        device = self.backend.identify(self.device(name))[0]
        return self.backend.read(device, request or Request())[0]

    def power(self, name: str = "nvidia0") -> float:
        return self.read(name).values[("power_watts",)]


def with_power(signal_text: str) -> str:
    return GROUP.replace("power_watts: 500", f"power_watts: {signal_text}")


def with_fault(fault: str) -> str:
    return f"{GROUP}\nfaults:\n  - {fault}\n"


def test_devices_are_composed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, GROUP)
    first, second = stage.backend.discover()
    assert (first.name, second.name) == ("nvidia0", "nvidia1")
    assert (first.vendor, first.backend) == ("nvidia", "replay")
    assert (first.pci_bus_id, second.pci_bus_id) == ("0000:ff:00.0", "0001:00:00.0")
    reading = stage.read("nvidia1")
    assert reading.values[("memory_size_bytes",)] == 80 << 30
    assert reading.values[("temperature_celsius", "memory")] == 70
    (process,) = reading.processes or ()
    assert (process.pid, process.pid_namespace, process.gpu_memory_bytes) == (
        101,
        "foreign",
        2 << 30,
    )


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("{ramp: {start: 100, end: 200, over_s: 10}}", {0: 100, 5: 150, 20: 200}),
        ("{sine: {mean: 10, amplitude: 5, period_s: 40}}", {0: 10, 10: 15, 30: 5}),
        ("{steps: [[0, 1], [5, 2], [8, 1.5e2]]}", {0: 1, 5: 2, 9: 150}),
        ("{counter: {start: 7, per_second: 2}}", {0: 7, 10: 27}),
        ("{constant: 3, ramp: {start: 0, end: 10, over_s: 10}, max: 9}", {0: 3, 4: 7, 10: 9}),
    ],
)
def test_values_over_time(tmp_path: Path, terms: str, expected: dict[int, float]) -> None:
    stage = Stage(tmp_path, with_power(terms))
    now = 0
    for second, watts in expected.items():
        stage.clock.advance(second - now)
        now = second
        assert stage.power() == watts


def test_noise_is_bounded_repeatable_and_each_device_s_own(tmp_path: Path) -> None:
    text = with_power("{noise: {mean: 100, spread: 10, seed: 3}}")
    runs = []
    for _ in range(2):
        stage = Stage(tmp_path, text)
        run = []
        for _ in range(20):
            run.append((stage.power("nvidia0"), stage.power("nvidia1")))
            stage.clock.advance(1)
        runs.append(run)
    assert runs[0] == runs[1]
    flat = [watts for pair in runs[0] for watts in pair]
    assert 90 <= min(flat) < 95
    assert 105 < max(flat) <= 110
    assert all(one != other for one, other in runs[0])


def test_a_loop_repeats_values_but_counters_go_on(tmp_path: Path) -> None:
    text = with_power("{ramp: {start: 0, end: 10, over_s: 10}}").replace(
        "temperature_celsius:",
        "energy_joules_total: {hardware: {counter: {per_second: 1}}}\n      temperature_celsius:",
    )
    stage = Stage(tmp_path, text.replace("scenario: 1", "scenario: 1\nlength: 10s"))
    stage.clock.advance(13)
    assert stage.power() == 3
    assert stage.read().values[("energy_joules_total", "hardware")] == 13


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("lost", DeviceLost),
        ("permission", DevicePermission),
        ("suspended", DeviceSuspended),
        ("error", ReadError),
    ],
)
def test_a_fault_comes_and_goes_and_hits_one_device(
    tmp_path: Path, kind: str, error: type[ReadError]
) -> None:
    fault = with_fault(f"{{kind: {kind}, device: nvidia1, at: 5, back: 10, code: c7, text: out}}")
    stage = Stage(tmp_path, fault)
    assert stage.power("nvidia1") == 500
    stage.clock.advance(5)
    with pytest.raises(ReadError, match="out") as caught:
        stage.read("nvidia1")
    assert type(caught.value) is error
    assert caught.value.code == "c7"
    assert stage.power("nvidia0") == 500
    stage.clock.advance(5)
    assert stage.power("nvidia1") == 500


def test_a_device_that_is_gone_is_not_found(tmp_path: Path) -> None:
    stage = Stage(tmp_path, with_fault("{kind: gone, device: nvidia1, at: 5, back: 6}"))
    device = stage.device("nvidia1")
    stage.clock.advance(5)
    assert [one.name for one in stage.backend.discover()] == ["nvidia0"]
    with pytest.raises(DeviceLost):
        stage.backend.read(device, Request())
    stage.clock.advance(1)
    assert stage.device("nvidia1") == device


def test_a_quantity_can_be_absent_for_a_while(tmp_path: Path) -> None:
    fault = "{kind: absent, quantity: temperature_celsius.memory, reason: permission, back: 5}"
    stage = Stage(tmp_path, with_fault(fault))
    reading = stage.read()
    assert reading.absent == {("temperature_celsius", "memory"): Absence.PERMISSION}
    assert ("temperature_celsius", "gpu") in reading.values
    stage.clock.advance(5)
    assert stage.read().absent == {}


def test_events_come_once_in_each_loop(tmp_path: Path) -> None:
    fault = "{kind: event, device: nvidia1, at: 4, code: xid_48, category: memory_fatal, text: DBE}"
    text = with_fault(fault).replace("scenario: 1", "scenario: 1\nlength: 10")
    stage = Stage(tmp_path, text)
    counts = []
    for _ in range(20):
        events = stage.backend.wait_events(0)
        counts.append(len(events))
        for event in events:
            assert (event.code, event.category) == ("xid_48", "memory_fatal")
            assert event.device_id == stage.device("nvidia1").id
            assert event.time == stage.clock.wall()
        stage.clock.advance(1)
    assert [second for second, count in enumerate(counts) if count] == [4, 14]


def test_an_event_may_come_again_within_a_loop(tmp_path: Path) -> None:
    text = with_fault("{kind: event, device: nvidia1, at: 1, every: 3, code: 31}")
    stage = Stage(tmp_path, text.replace("scenario: 1", "scenario: 1\nlength: 10"))
    seconds = []
    for second in range(13):
        for event in stage.backend.wait_events(0):
            seconds.append(second)
            assert (event.code, event.category) == ("xid_31", "application")
            assert event.time == pytest.approx(stage.clock.wall())
        stage.clock.advance(1)
    assert seconds == [1, 4, 7, 11]


SUFFERING = GROUP.replace(
    "power_watts: 500",
    "power_watts: 500\n      clock_hertz: {sm: 2e9}\n      reset_required: 0\n"
    "      throttle_active: {thermal_hardware: 0}\n      ecc_errors_total: {uncorrected: 7}\n"
    "      interconnect_links: {nvlink: {up: 18, down: 0}, c2c: {up: 2, down: 0}}",
)


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        (
            "kind: throttle, factor: 0.5",
            {
                "power_watts": 250.0,
                "clock_hertz.sm": 1_000_000_000,
                "throttle_active.thermal_hardware": 1,
                "temperature_celsius.gpu": 75,
            },
        ),
        (
            "kind: throttle, reason: power, factor: 0.5",
            {"power_watts": 250.0, "clock_hertz.sm": 10**9},
        ),
        ("kind: straggler, factor: 0.25", {"power_watts": 125.0, "clock_hertz.sm": 5 * 10**8}),
        (
            "kind: ecc, severity: uncorrected, count: 2",
            {"ecc_errors_total.uncorrected": 14, "reset_required": 1},
        ),
        (
            "kind: link_down, count: 2",
            {
                "interconnect_links.nvlink.up": 16,
                "interconnect_links.nvlink.down": 2,
                "interconnect_links.c2c.up": 0,
                "interconnect_links.c2c.down": 2,
            },
        ),
    ],
)
def test_a_fault_changes_what_the_device_reads(
    tmp_path: Path, fault: str, changed: dict[str, float]
) -> None:
    text = f"{SUFFERING}\nfaults:\n  - {{{fault}, device: nvidia1, at: 2, back: 8}}\n"
    stage = Stage(tmp_path, text)
    usual = stage.read("nvidia1").values
    stage.clock.advance(5)
    now = stage.read("nvidia1").values
    different = {".".join(series): now[series] for series in now if now[series] != usual[series]}
    assert different == changed
    assert stage.read("nvidia0").values == usual
    assert now.keys() == usual.keys()


@pytest.mark.parametrize("kind", sorted(NODE_KINDS))
def test_a_fault_of_a_node_is_refused_with_who_plays_it(tmp_path: Path, kind: str) -> None:
    with pytest.raises(
        BackendUnavailable, match=f"{kind} happens to a polled node.*accelwatch sim plays it"
    ):
        Stage(tmp_path, with_fault(f"{{kind: {kind}}}"))


def test_closing_ends_the_wait_for_events(tmp_path: Path) -> None:
    stage = Stage(tmp_path, GROUP)
    waiting = threading.Thread(target=stage.backend.wait_events, args=(600,), daemon=True)
    waiting.start()
    stage.backend.close()
    waiting.join(GUARD_S)
    assert not waiting.is_alive()


def test_a_hang_blocks_the_calling_thread_until_it_is_over(tmp_path: Path) -> None:
    stage = Stage(tmp_path, with_fault("{kind: hang, device: nvidia0, back: 5}"))
    device = stage.device()
    done = threading.Event()

    def call() -> None:
        stage.backend.read(device, Request())
        done.set()

    threading.Thread(target=call, daemon=True).start()
    assert not done.wait(0.1)
    assert stage.power("nvidia1") == 500
    stage.clock.advance(5)
    assert done.wait(GUARD_S)


@pytest.mark.parametrize("call", ["open", "discover", "identify", "read"])
def test_a_crash_is_a_real_segmentation_fault(tmp_path: Path, call: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(with_fault(f"{{kind: crash, call: {call}}}"))
    code = f"""if True:
        from accelwatch.backend import Context, Request
        from accelwatch_lab.replay import ReplayBackend
        backend = ReplayBackend(Context(options={{"file": {str(path)!r}}}))
        for step in ("open", "discover", "identify", "read"):
            print(step, flush=True)
            if step == "open": backend.open()
            if step == "discover": device = backend.discover()[0]
            if step == "identify": device = backend.identify(device)[0]
            if step == "read": backend.read(device, Request())
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGSEGV
    assert run.stdout.split()[-1] == call


def test_a_fault_of_opening_or_discovering_is_the_backend_s(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="no driver") as caught:
        Stage(tmp_path, with_fault("{kind: error, call: open, code: nodriver, text: no driver}"))
    assert caught.value.reason == "nodriver"
    stage = Stage(tmp_path, with_fault("{kind: error, call: discover, at: 1}"))
    assert len(stage.backend.discover()) == 2
    stage.clock.advance(1)
    with pytest.raises(BackendUnavailable):
        stage.backend.discover()


def test_opt_in_quantities_and_processes_only_when_requested(tmp_path: Path) -> None:
    text = GROUP.replace("power_watts: 500", "power_watts: 500\n      voltage_volts: {core: 0.9}")
    stage = Stage(tmp_path, text)
    device = stage.backend.identify(stage.device())[0]
    (usual,) = sound_readings((stage.read(),), (device,), frozenset())
    assert ("voltage_volts", "core") not in usual.values
    request = Request(groups=frozenset({"components"}), processes=False)
    reading = stage.read(request=request)
    assert reading.values[("voltage_volts", "core")] == 0.9
    assert reading.processes is None


def test_partitions_follow_their_parent(tmp_path: Path) -> None:
    part = (
        "partitions: [{name: gi1/ci0, technology: mig, profile: 1g.10gb, values: {power_watts: 9}}]"
    )
    stage = Stage(tmp_path, f"{GROUP}    {part}\n")
    whole, instance = stage.backend.identify(stage.device())
    assert instance.parent_id == whole.id
    assert instance.partition == "gi1/ci0"
    readings = stage.backend.read(whole, Request())
    assert readings[1].device_id == instance.id
    assert readings[1].values == {("power_watts",): 9}


WRONG = {
    "": "no scenario",
    "[1, 2]": "no scenario",
    "a: [": "x.yaml:1: bad YAML",
    "scenario: 2\ndevices: []": "format 2 is newer",
    "devices: []": "scenario",
    "scenario: 1\nscenario: 1\ndevices: []": "x.yaml:2: scenario: given twice, first on line 1",
    "scenario: 1\ndevices: &a []\nfaults: *a": "aliases",
    GROUP.replace(
        "count:", "cuont:"
    ): "x.yaml:6: devices[0].cuont: unknown key; did you mean count?",
    GROUP.replace("count: 2", "count: 0"): "x.yaml:6: devices[0].count: count must be between",
    GROUP.replace("count: 2", "count: two"): "x.yaml:6: devices[0].count: Expected `int`",
    GROUP.replace(
        "power_watts", "power_wats"
    ): "x.yaml:9: devices[0].values.power_wats: no quantity "
    "'power_wats' that a device can have; did you mean 'power_watts'?",
    GROUP.replace(
        "{gpu: 61, memory: 70}", "61"
    ): "temperature_celsius needs one level for each label: sensor",
    GROUP.replace("memory: 70", "memory: yes"): "True is neither a number nor a signal",
    GROUP.replace(
        "memory: 70", "memory: {sin: 3}"
    ): "temperature_celsius.memory.sin: unknown key; did you mean sine?",
    GROUP.replace("80GiB", "80 potatoes"): "is not a valid number; write 0.5",
    with_power("{sine: {amplitude: 1, period_s: 0}}"): "must be above 0",
    with_power("{steps: [[5, 1], [1, 1]]}"): "in order of time",
    with_power("{max: 4}"): "a signal needs",
    with_power(".nan"): "not a number that can be shown",
    with_power("1e400"): "not a number that can be shown",
    "[" * 5000: "nested deeper than 16 levels",
    with_fault("{kind: lots}"): "x.yaml:15: faults[0].kind: Invalid enum value 'lots'",
    with_fault("{kind: lost, device: nvidia7}"): "no device 'nvidia7'; there are nvidia0, nvidia1",
    with_fault("{kind: lost, at: 5, back: 5}"): "back must be after at",
    with_fault("{kind: lost, at: soon}"): "faults[0].at: 'soon' is not a valid duration",
    with_fault("{kind: event}"): "an event needs a code",
    with_fault("{kind: absent, quantity: powr_watts}"): "did you mean 'power_watts'?",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_scenario_names_file_line_and_key(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(BackendUnavailable) as caught:
        ReplayBackend(Context(options={"file": str(path)})).open()
    assert WRONG[text] in str(caught.value)
    assert caught.value.reason == "config"


def test_one_run_names_every_mistake_from_the_top(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    bad = (
        GROUP.replace("count: 2", "cuont: 2")
        .replace("80GiB", "much")
        .replace("{gpu: 61", "{gpu: no")
    )
    path.write_text(f"{bad}\nfaults:\n  - {{kind: event, at: soon}}\n  - {{kind: lots}}\n")
    with pytest.raises(BackendUnavailable) as caught:
        ReplayBackend(Context(options={"file": str(path)})).open()
    where = [
        line.split(": ")[1:3] for line in str(caught.value).replace(f"{path}:", ": ").splitlines()
    ]
    assert [location for _, location in where] == [
        "devices[0].cuont",
        "devices[0].values.temperature_celsius.gpu",
        "devices[0].values.memory_size_bytes",
        "faults[0].at",
        "faults[0].code",
        "faults[1].kind",
    ]
    assert [int(line) for line, _ in where] == [6, 10, 11, 15, 15, 16]


def test_what_depends_on_a_mistake_is_not_reported_as_another(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(with_fault("{kind: lost, device: nvidia1}").replace("count: 2", "count: two"))
    with pytest.raises(BackendUnavailable) as caught:
        ReplayBackend(Context(options={"file": str(path)})).open()
    assert str(caught.value).count(str(path)) == 1


def test_the_demo_shows_one_lost_device_among_healthy_ones() -> None:
    backend = ReplayBackend(Context(options={"file": "demo"}, one_shot=True))
    backend.open()
    lost = []
    for device in backend.discover():
        try:
            backend.read(device, Request())
        except DeviceLost:
            lost.append(device.name)
    assert lost == ["nvidia5"]
    assert len({device.vendor for device in backend.discover()}) == 3
