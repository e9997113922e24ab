"""What node_exporter says of a simulated machine: families of its standing collectors."""

from collections.abc import Iterator, Mapping

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# How long machines had been up when the scenario began.
_UP_S = 30 * 86_400.0
# Family, kind, labels, and our own series of the same value.
_CARRIED: tuple[tuple[str, str, str, Series], ...] = (
    ("node_load1", "gauge", "", ("host_load_average", "1")),
    ("node_load5", "gauge", "", ("host_load_average", "5")),
    ("node_procs_blocked", "gauge", "", ("host_blocked_processes",)),
    ("node_memory_MemTotal_bytes", "gauge", "", ("host_memory_size_bytes",)),
    ("node_memory_MemAvailable_bytes", "gauge", "", ("host_memory_available_bytes",)),
    ("node_timex_sync_status", "gauge", "", ("host_clock_synchronized",)),
    ("node_network_up", "gauge", '{device="bond0"}', ("host_network_up", "bond0")),
    (
        "node_network_receive_bytes_total",
        "counter",
        '{device="bond0"}',
        ("host_network_bytes_total", "bond0", "receive"),
    ),
    (
        "node_network_transmit_bytes_total",
        "counter",
        '{device="bond0"}',
        ("host_network_bytes_total", "bond0", "transmit"),
    ),
)


def text(fleet: Fleet, node: Node, instant: Instant) -> str:
    """The exposition of a node."""
    condition = fleet.condition(node, instant)
    wall = fleet.wall(instant, condition)
    booted_s = -_UP_S if condition.booted_s is None else condition.booted_s
    values = fleet.host_view(node, instant, condition).reading.values
    boot_time = fleet.origin(condition) + booted_s
    up_s = wall - boot_time
    lines = [
        _family("node_exporter_build_info", "gauge", '{version="1.8.2"}', 1),
        _family("node_boot_time_seconds", "gauge", "", boot_time),
        _family("node_time_seconds", "gauge", "", wall),
        _family("node_timex_offset_seconds", "gauge", "", 0.0),
        *_cpus(values, up_s),
        *(_family(name, kind, labels, values[series]) for name, kind, labels, series in _CARRIED),
    ]
    return "".join(lines)


def _cpus(values: Mapping[Series, Number], up_s: float) -> Iterator[str]:
    yield "# TYPE node_cpu_seconds_total counter\n"
    for cpu in range(int(values["host_cpu_count",])):
        yield f'node_cpu_seconds_total{{cpu="{cpu}",mode="idle"}} {up_s / 2:.2f}\n'


def _family(name: str, kind: str, labels: str, value: Number) -> str:
    return f"# TYPE {name} {kind}\n{name}{labels} {value}\n"
