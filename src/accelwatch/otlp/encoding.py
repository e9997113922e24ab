"""From the samples of a node to messages of OTLP, as opentelemetry-proto defines them.

A quantity that is absent has no point: nothing is ever sent as 0 or NaN instead.
"""

from collections.abc import Iterable, Iterator, Mapping

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from accelwatch.base.version import __version__
from accelwatch.otlp.conventions import Instrument, Outlet, outlet
from accelwatch.otlp.samples import OwnerSamples
from accelwatch.otlp.starts import Starts
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series

_SCOPE = InstrumentationScope(name="accelwatch", version=__version__)
_INTEGERS = range(-(1 << 63), 1 << 63)


class MetricsChunk:
    """Metrics of one resource that go in one request."""

    def __init__(self, resource: Resource) -> None:
        self.points = 0
        self._scope = ScopeMetrics(scope=_SCOPE)
        self._resource = resource
        self._metrics: dict[str, Metric] = {}

    def message(self) -> ResourceMetrics:
        """The whole part."""
        return ResourceMetrics(resource=self._resource, scope_metrics=[self._scope])

    def add(self, route: Outlet, point: NumberDataPoint) -> None:
        """One point of a metric."""
        metric = self._metrics.get(route.name)
        if metric is None:
            metric = self._metrics[route.name] = self._scope.metrics.add(
                name=route.name, unit=route.unit, description=route.help
            )
            if route.instrument is not Instrument.GAUGE:
                metric.sum.is_monotonic = route.instrument is Instrument.COUNTER
                metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        kind = metric.gauge if route.instrument is Instrument.GAUGE else metric.sum
        kind.data_points.append(point)
        self.points += 1


def chunks(
    owners: Iterable[OwnerSamples],
    resource: Mapping[str, str],
    time_s: float,
    starts: Starts,
    most: int,
) -> Iterator[MetricsChunk]:
    """The samples of one resource at a moment (Unix seconds), at most so many points in each part."""
    encoded = Resource(attributes=_attributes(resource.items()))
    time_ns = int(time_s * 1e9)
    chunk = MetricsChunk(encoded)
    starts.start_round()
    for owner in owners:
        kind = DeviceKind.GPU if owner.device is None else owner.device.kind
        owner_attributes = _OwnerAttributes(owner)
        for row, series, value in owner.samples:
            route = outlet(row, kind)
            point = NumberDataPoint(
                time_unix_nano=time_ns, attributes=owner_attributes.attributes(route, series)
            )
            if isinstance(value, int) and value in _INTEGERS:
                point.as_int = value
            else:
                point.as_double = value
            if route.instrument is not Instrument.GAUGE:
                counts = route.instrument is Instrument.COUNTER
                point.start_time_unix_nano = starts.of(
                    (owner.text, series), value, time_ns, monotonic=counts
                )
            chunk.add(route, point)
            if chunk.points >= most:
                yield chunk
                chunk = MetricsChunk(encoded)
    starts.finish_round()
    if chunk.points:
        yield chunk


class _OwnerAttributes:
    """The attributes that name an owner."""

    def __init__(self, owner: OwnerSamples) -> None:
        device = owner.device
        self._id, self._name, self._hardware, self._labels = "", "", [], []
        if device is not None:
            self._id, self._name = device.label_id(), device.name
            self._hardware = _attributes(_hardware(device))
            labels = {"vendor": device.vendor, "device": device.name, "uuid": self._id}
            self._labels = _attributes(labels.items())
        elif owner.vendor:
            self._labels = _attributes([("vendor", owner.vendor)])

    def attributes(self, route: Outlet, series: Series) -> list[KeyValue]:
        """All attributes of a series."""
        own = [
            (name, names.get(value, value))
            for name, names, value in zip(route.labels, route.value_names, series[1:], strict=True)
        ]
        if not route.conventional:
            return [*self._labels, *_attributes(own)]
        if not route.is_component:
            return [*self._hardware, *_attributes((*route.attributes, *own))]
        which = "/".join((route.name.split(".")[1], *series[1:2]))
        component = [
            ("hw.id", f"{self._id}/{which}"),
            ("hw.name", f"{self._name} {which}"),
            ("hw.parent", self._id),
        ]
        return _attributes((*component, *route.attributes, *own))


def _hardware(device: Device) -> Iterator[tuple[str, str]]:
    yield "hw.id", device.label_id()
    yield "hw.type", device.kind.value
    yield "hw.name", device.name
    yield "hw.vendor", device.vendor
    yield "hw.model", device.model or ""
    yield "hw.serial_number", device.serial or ""
    yield "hw.driver_version", device.driver_version or ""
    yield "hw.firmware_version", device.firmware_version or ""


def _attributes(pairs: Iterable[tuple[str, str]]) -> list[KeyValue]:
    return [
        KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in pairs if value
    ]
