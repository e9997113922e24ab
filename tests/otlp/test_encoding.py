"""From a snapshot to points: names, attributes, sums and their beginnings; no point without a value."""

import math

import msgspec
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE

from accelwatch.otlp.encoding import chunks
from accelwatch.otlp.samples import Chosen, ourselves
from accelwatch.otlp.starts import Starts
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot
from otlp.receiver_servers import Point, points
from support.machines import composed as machines

ALL: frozenset[str] = frozenset()
RESOURCE = {"host.name": "n1"}


def sent(
    snapshot: Snapshot, starts: Starts | None = None, most: int = 10_000, **own: Number
) -> list[Point]:
    series: dict[Series, Number] = {(key,): value for key, value in own.items()}
    owners = Chosen("default", ALL).of(snapshot, series)
    made = chunks(owners, RESOURCE, snapshot.time, starts or Starts(), most)
    request = ExportMetricsServiceRequest(resource_metrics=[part.message() for part in made])
    return points(ExportMetricsServiceRequest.FromString(request.SerializeToString()))


def named(found: list[Point], name: str, **attributes: str) -> list[Point]:
    return [
        point
        for point in found
        if point.metric.name == name and attributes.items() <= point.attributes.items()
    ]


SHOT = machines.snapshot(machines.view(0), machines.view(1))
DEVICE = machines.device(0)
HARDWARE = {
    "hw.id": DEVICE.uuid,
    "hw.type": "gpu",
    "hw.name": "nvidia0",
    "hw.vendor": "nvidia",
    "hw.model": "NVIDIA H100 80GB HBM3",
    "hw.serial_number": "1650000000000",
    "hw.driver_version": "590.48.01",
}


def test_a_gauge_of_a_device() -> None:
    point, *_ = named(sent(SHOT), "hw.gpu.utilization", **{"hw.gpu.task": "general"})
    assert point.attributes == {**HARDWARE, "hw.gpu.task": "general"}
    assert (point.metric.unit, point.metric.WhichOneof("data")) == ("1", "gauge")
    assert (point.value, point.time, point.start) == (0.97, int(SHOT.time * 1e9), 0)
    assert point.resource == RESOURCE


def test_memory_is_a_sum_that_may_fall() -> None:
    point, other = named(sent(SHOT), "hw.gpu.memory.usage")
    assert point.metric.sum.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
    assert not point.metric.sum.is_monotonic
    assert (point.value, other.value - point.value) == (61 * machines.GIB, 1)


def test_a_part_of_a_device_has_an_id_of_its_own() -> None:
    point, memory, *_ = named(sent(SHOT), "hw.temperature", **{"hw.parent": DEVICE.label_id()})
    assert point.attributes == {
        "hw.id": f"{DEVICE.uuid}/temperature/gpu",
        "hw.name": "nvidia0 temperature/gpu",
        "hw.parent": DEVICE.uuid,
        "hw.sensor_location": "gpu",
    }
    assert memory.attributes["hw.id"].endswith("/temperature/memory")
    limits = named(sent(SHOT), "hw.temperature.limit", **{"hw.parent": DEVICE.label_id()})
    limit_types = [point.attributes["hw.limit_type"] for point in limits]
    assert sorted(limit_types) == ["high.critical", "high.degraded", "max_operating"]


def test_health_is_one_status_that_is_1() -> None:
    found = named(sent(SHOT), "hw.status", **{"hw.name": "nvidia0"})
    assert {point.attributes["hw.state"]: point.value for point in found} == {
        "ok": 1,
        "degraded": 0,
        "failed": 0,
        "unknown": 0,
    }


def test_what_no_convention_has_keeps_family_and_labels() -> None:
    point, *_ = named(sent(SHOT), "accel_clock_hertz", domain="sm", device="nvidia0")
    assert point.attributes == {
        "vendor": "nvidia",
        "device": "nvidia0",
        "uuid": DEVICE.uuid,
        "domain": "sm",
    }
    assert point.metric.unit == "Hz"


def test_what_is_absent_has_no_point() -> None:
    lost = machines.snapshot(machines.lost_view(0))
    found = sent(lost)
    assert named(found, "hw.gpu.utilization") == named(found, "hw.gpu.memory.usage") == []
    assert [point.value for point in named(found, "accel_device_up")] == [0]
    assert not any(isinstance(point.value, float) and math.isnan(point.value) for point in found)


def test_no_two_points_of_a_request_are_the_same_series() -> None:
    found = sent(SHOT)
    keys = [(point.metric.name, *sorted(point.attributes.items())) for point in found]
    assert len(keys) == len(set(keys))


def energy(joules: float, time: float) -> Snapshot:
    view = machines.view(0)
    values = {**view.reading.values, ("energy_joules_total", "hardware"): joules}
    reading = msgspec.structs.replace(view.reading, values=values)
    shot = machines.snapshot(msgspec.structs.replace(view, reading=reading))
    return msgspec.structs.replace(shot, time=time)


def test_a_counter_starts_when_it_is_first_seen_and_again_when_it_falls() -> None:
    starts = Starts()
    samples = [
        named(sent(energy(joules, time), starts), "hw.energy")[0]
        for joules, time in ((50.0, 100.0), (60.0, 101.0), (5.0, 102.0), (7.0, 103.0))
    ]
    assert samples[0].metric.sum.is_monotonic
    assert [point.start // 10**9 for point in samples] == [100, 100, 102, 102]
    assert [point.time // 10**9 for point in samples] == [100, 101, 102, 103]


def test_a_counter_that_was_away_starts_anew() -> None:
    starts = Starts()
    sent(energy(50.0, 100.0), starts)
    sent(machines.snapshot(machines.lost_view(0)), starts)
    (point,) = named(sent(energy(60.0, 102.0), starts), "hw.energy")
    assert point.start // 10**9 == 102


def test_a_sum_that_may_fall_keeps_its_beginning() -> None:
    starts = Starts()
    starts.start_round()
    starts.of("a", 5, 1, monotonic=False)
    starts.finish_round()
    starts.start_round()
    assert starts.of("a", 3, 2, monotonic=False) == 1


def test_an_npu_is_no_gpu() -> None:
    view = machines.view(0)
    npu = msgspec.structs.replace(view.device, kind=DeviceKind.NPU)
    found = sent(machines.snapshot(msgspec.structs.replace(view, device=npu)))
    assert not [point for point in found if point.metric.name.startswith("hw.gpu")]
    assert named(found, "hw.power")[0].attributes["hw.type"] == "npu"
    assert named(found, "accel_utilization_ratio")


@pytest.mark.parametrize(
    ("value", "kind"), [(2**63 - 1, int), (2**63, float), (-(2**63), int), (1.5, float)]
)
def test_integers_stay_integers_where_the_protocol_has_room(value: Number, kind: type) -> None:
    (point,) = named(
        sent(machines.snapshot(), otlp_points_pending=value), "accel_otlp_points_pending"
    )
    assert (type(point.value), point.value, point.attributes) == (kind, value, {})


def test_long_parts_are_cut() -> None:
    owners = Chosen("default", ALL).of(SHOT, {})
    made = list(chunks(owners, RESOURCE, 1.0, Starts(), 50))
    whole = len(sent(SHOT))
    assert [part.points for part in made[:-1]] == [50] * (whole // 50)
    assert sum(part.points for part in made) == whole


def test_a_hub_says_everything_about_itself() -> None:
    owners = ourselves({("fleet_nodes", "up"): 3})
    (part,) = chunks(owners, RESOURCE, 1.0, Starts(), 50)
    (point,) = points(ExportMetricsServiceRequest(resource_metrics=[part.message()]))
    assert point.metric.name == "accel_fleet_nodes"
    assert list(point.attributes.values()) == ["up"]
