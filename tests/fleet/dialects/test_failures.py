"""An exporter that is up and says that it cannot read its devices; Xids that only it reports."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import Foreign, ForeignReader, read_devices
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView
from support.fleet.manual_fleet import Bench
from support.machines.samples import sample

NOW = 1_700_000_100.0
LOST, UNRESPONSIVE = DeviceState.LOST, DeviceState.UNRESPONSIVE


def well(*uuids: str, extra: str = "") -> str:
    devices = "".join(
        f'nvidia_smi_gpu_info{{uuid="{uuid}",name="NVIDIA H100",index="{index}"}} 1\n'
        f'nvidia_smi_utilization_gpu_ratio{{uuid="{uuid}"}} 1\n'
        for index, uuid in enumerate(uuids)
    )
    return devices + "nvidia_smi_last_collect_success 1\n" + extra


def failed(code: float | None, family: str = "nvidia_smi_nvml_return_code") -> str:
    line = "" if code is None else f"{family} {code}\n"
    return f"nvidia_smi_failed_scrapes_total 6\nnvidia_smi_last_collect_success 0\n{line}"


@pytest.mark.parametrize(
    ("uuids", "page", "state", "word"),
    [
        (("a",), failed(15), LOST, "a device is lost"),
        (("a",), failed(15, "nvidia_smi_command_exit_code"), LOST, "a device is lost"),
        (("a",), failed(10), UNRESPONSIVE, "code 10"),
        (("a",), failed(None), UNRESPONSIVE, "could read none"),
        (("a", "b"), failed(15), UNRESPONSIVE, "a device is lost"),
        (("a", "b"), failed(999), UNRESPONSIVE, "code 999"),
    ],
)
def test_devices_of_before_are_what_the_exporter_cannot_read(
    uuids: tuple[str, ...], page: str, state: DeviceState, word: str
) -> None:
    """Of several devices a lost one is not named: that they are all lost would be an invention."""
    reader = ForeignReader()
    before = reader.read(well(*uuids), NOW)
    reader.read(page, NOW + 5)
    read = reader.read(page, NOW + 10)
    assert read.dialects == ("nvidia_gpu_exporter",)
    assert [view.device for view in read.devices] == [view.device for view in before.devices]
    for view in read.devices:
        assert (view.state, view.state_since, view.health) == (state, NOW + 5, Health.FAILED)
        assert (view.sample_time, view.sample_age_s) == (NOW, 10)
        assert list(view.reading.absent) == [("*",)]
        assert view.reading.values == {}
        assert word in view.reading.notes[0]
    reason = {LOST: Absence.LOST, UNRESPONSIVE: Absence.TIMEOUT}[state]
    assert read.devices[0].reading.absent["*",] is reason


def test_devices_are_back_with_the_next_page() -> None:
    reader = ForeignReader()
    for page, states in (
        (well("a", "b"), ["ok", "ok"]),
        (failed(15), ["unresponsive", "unresponsive"]),
        (well("a"), ["ok"]),
        (failed(15), ["lost"]),
        (well("a", "b"), ["ok", "ok"]),
    ):
        states_of = [view.state.value for view in reader.read(page, NOW).devices]
        assert states_of == states


def test_a_page_without_devices_that_is_no_failure_has_none() -> None:
    reader = ForeignReader()
    reader.read(well("a"), NOW)
    read = reader.read("nvidia_smi_last_collect_success 1\n", NOW)
    assert (read.dialects, read.devices) == (("nvidia_gpu_exporter",), ())


def test_a_hub_counts_an_exporter_that_answers_as_up() -> None:
    """Never seen before by this hub: the node is up, and what the inventory expects is missing."""
    (target,) = targets_of(["n1:9835"])
    read = foreign_reader(target, now=lambda: NOW)
    exposed = read(failed(15).encode())
    assert (exposed.dialect, exposed.devices) == ("nvidia_gpu_exporter", ())
    bench = Bench("n1")
    bench.fleet.read(bench.targets["n1"].key, exposed.devices, None, 5.0)
    assert bench.state("n1") == "up"


XID = 'nvidia_smi_xid_errors_total{{uuid="a",xid="{xid}"}} {total}\n'
TIME = 'nvidia_smi_xid_last_timestamp_seconds{{uuid="a",xid="{xid}"}} {time}\n'


def xid(number: int, total: int = 3, time: float | None = None) -> str:
    extra = XID.format(xid=number, total=total)
    return extra + (TIME.format(xid=number, time=time) if time is not None else "")


@pytest.mark.parametrize(
    ("number", "time", "category", "health"),
    [
        (79, NOW - 60, "bus", Health.DEGRADED),
        (79, NOW - 601, "bus", Health.OK),
        (79, NOW + 3600, "bus", Health.OK),
        (79, None, "bus", Health.OK),
        (13, NOW - 60, "application", Health.OK),
        (999, NOW - 60, "other", Health.OK),
    ],
)
def test_a_recent_critical_xid_degrades_and_has_its_category(
    number: int, time: float | None, category: str, health: Health
) -> None:
    (view,) = read_devices(well("a", extra=xid(number, time=time)), NOW).devices
    (count,) = view.event_counts
    assert (count.code, count.category, count.total) == (f"xid_{number}", category, 3)
    assert view.health is health
    if health is Health.DEGRADED:
        assert view.health_reasons == ("xid_79 was reported",)


def test_a_count_of_nothing_is_no_fault() -> None:
    (view,) = read_devices(well("a", extra=xid(79, total=0, time=NOW - 1)), NOW).devices
    assert view.health is Health.OK


DCGM = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 40\n'
COUNT = 'DCGM_EXP_XID_ERRORS_TOTAL{{gpu="0",UUID="GPU-1",xid="79"}} {}\n'


def test_a_count_without_a_time_degrades_when_it_grows() -> None:
    reader = ForeignReader()

    def read(page: str, seconds: float) -> DeviceView:
        (view,) = reader.read(page, NOW + seconds).devices
        return view

    first = read(DCGM + COUNT.format(2), 0)
    assert (first.health, first.event_counts[0].last_time) == (Health.OK, 0)
    assert read(DCGM + COUNT.format(2), 5).health is Health.OK
    grown = read(DCGM + COUNT.format(3), 10)
    assert (grown.health, grown.event_counts[0].last_time) == (Health.DEGRADED, NOW + 10)
    assert read(DCGM + COUNT.format(3), 15).event_counts[0].last_time == NOW + 10
    assert read(DCGM + COUNT.format(3), 609).health is Health.DEGRADED
    assert read(DCGM + COUNT.format(3), 611).health is Health.OK
    assert read(DCGM + COUNT.format(1), 620).health is Health.OK  # it has started anew


def test_counts_survive_a_failure_and_are_not_reported_again() -> None:
    reader = ForeignReader()
    bench = Bench("n1")
    page = well("a", extra=xid(79, total=3))

    def event_count(read: Foreign) -> int:
        bench.fleet.read(bench.targets["n1"].key, read.devices, None, 5.0)
        return len(bench.fleet.events)

    assert event_count(reader.read(page, NOW)) == 0
    assert event_count(reader.read(failed(15), NOW)) == 0
    assert event_count(reader.read(page, NOW)) == 0
    assert event_count(reader.read(well("a", extra=xid(79, total=4)), NOW)) == 1


@pytest.mark.oracle
def test_a_recorded_failure_after_recorded_devices() -> None:
    reader = ForeignReader()
    folder = "exporters/nvidia_gpu_exporter"
    before = reader.read(sample(f"{folder}/demo__seeded.metrics").read_bytes(), NOW)
    page = sample(f"{folder}_live/1.14.0_nvml_h100x8.metrics").read_bytes()
    read = reader.read(page, NOW + 5)
    assert [view.device.id for view in read.devices] == [one.device.id for one in before.devices]
    assert {view.state for view in read.devices} == {UNRESPONSIVE}
    assert "code 15, a device is lost" in read.devices[0].reading.notes[0]


@pytest.mark.oracle
def test_a_recorded_xid_79() -> None:
    page = sample("exporters/nvidia_gpu_exporter_live/1.14.0_h100_xid79.metrics").read_bytes()
    at = 1795308919.0
    views = {view.device.index: view for view in read_devices(page, at + 120).devices}
    (count,) = views[1].event_counts
    assert (count.code, count.category, count.total, count.last_time) == ("xid_79", "bus", 3, at)
    assert (views[0].health, views[1].health) == (Health.OK, Health.DEGRADED)
    later = {view.device.index: view for view in read_devices(page, at + 601).devices}
    assert later[1].health is Health.OK
