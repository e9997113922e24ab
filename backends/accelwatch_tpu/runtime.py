"""What libtpu reports of its devices over gRPC, from within a workload.

Service tpu.monitoring.runtime.RuntimeMetricService, messages of tpu_metric_service.proto:
google/cloud-accelerator-diagnostics, tpu_info/proto.
"""

import struct
from collections.abc import Mapping

import msgspec

from accelwatch.backend.kit.grpc.call import unary
from accelwatch.backend.kit.grpc.failure import SourceError, protocol
from accelwatch.backend.kit.grpc.protobuf import fields, messages
from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.base.errors import ReadError
from accelwatch_tpu.report import MetricValue, Report

# Of the first process of a workload, unless TPU_RUNTIME_METRICS_PORTS says otherwise.
PORT = 8431
METHOD = "/tpu.monitoring.runtime.RuntimeMetricService/GetRuntimeMetric"
TOTAL = "tpu.runtime.hbm.memory.total.bytes"
USED = "tpu.runtime.hbm.memory.usage.bytes"
DUTY = "tpu.runtime.tensorcore.dutycycle.percent"
BANDWIDTH = "tpu.runtime.hbm.utilization.percent"
_MAX_DEVICES = 4096


def fetch_report(port: int, *, timeout_s: float, clock: Clock) -> Report | None:
    """What it reports now; None where nothing is listening, as without a workload.

    A metric that this libtpu does not know is absent. Raises ReadError.
    """
    every: dict[str, Mapping[int, MetricValue]] = {}
    for name in (TOTAL, USED, DUTY, BANDWIDTH):
        metric = _metric(name, port, timeout_s=timeout_s, clock=clock)
        if metric is None:
            return None
        every[name] = metric
    missing = Absence.UNSUPPORTED
    numbers = sorted({*every[TOTAL], *every[USED]})
    return Report(
        memory={
            at: (every[USED].get(at, missing), every[TOTAL].get(at, missing)) for at in numbers
        },
        duty=_ratios(every[DUTY]),
        bandwidth=_ratios(every[BANDWIDTH]),
    )


def bandwidth(port: int, *, timeout_s: float, clock: Clock) -> Mapping[int, MetricValue]:
    """What tpu-info prints only on its own query; empty where it is not to be had."""
    try:
        percents = _metric(BANDWIDTH, port, timeout_s=timeout_s, clock=clock)
    except ReadError:
        return {}
    return _ratios(percents or {})


def _metric(
    name: str, port: int, *, timeout_s: float, clock: Clock
) -> Mapping[int, MetricValue] | None:
    """By device; empty of one that is not known, None where nothing is listening. Raises ReadError."""
    try:
        return gauges(unary(port, METHOD, _request(name), timeout_s=timeout_s, clock=clock))
    except SourceError as error:
        if "UNIMPLEMENTED" in str(error) or "NOT_FOUND" in str(error):
            return {}
        if "nothing is listening" in str(error):
            return None
        raise ReadError(f"libtpu: {error}", code="grpc") from error


def _ratios(percents: Mapping[int, MetricValue]) -> Mapping[int, MetricValue]:
    return {
        at: value if isinstance(value, Absence) else value / 100 for at, value in percents.items()
    }


def with_runtime(report: Report | None, runtime: Report) -> Report:
    """The numbers of the runtime, with who and what the command's report has besides."""
    if report is None:
        return runtime
    return msgspec.structs.replace(
        report, memory=runtime.memory, duty=runtime.duty, bandwidth=runtime.bandwidth
    )


def gauges(response: bytes) -> dict[int, MetricValue]:
    """Values of a MetricResponse by device. Raises SourceError for what is no message."""
    values: dict[int, MetricValue] = {}
    for metric in messages(response, 1):
        for point in messages(metric, 3):
            device = _device(point)
            if device is None or len(values) == _MAX_DEVICES:
                raise protocol("a value without device, or of too many")
            values[device] = _value(point)
    return values


def _request(name: str) -> bytes:
    octets = name.encode()
    return bytes((0x0A, len(octets))) + octets


def _device(point: bytes) -> int | None:
    """The attribute `device-id`."""
    for attribute in messages(point, 1):
        for value in messages(attribute, 2):
            for number, device_id in fields(value):
                if number == 3 and isinstance(device_id, int) and device_id < _MAX_DEVICES:
                    return device_id
            # proto3 leaves a number out that is 0, unless it stands in a oneof; both are read.
            return 0 if not value else None
    return None


def _value(point: bytes) -> MetricValue:
    for gauge in messages(point, 3):
        for number, value in fields(gauge):
            if number == 1 and isinstance(value, bytes) and len(value) == 8:
                (double,) = struct.unpack("<d", value)
                return double if 0 <= double < float("inf") else Absence.ERROR
            if number == 2 and isinstance(value, int):
                return float(value) if value < 1 << 63 else Absence.ERROR
        return Absence.ERROR
    return Absence.UNSUPPORTED
