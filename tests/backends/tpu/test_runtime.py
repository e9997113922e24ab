"""What libtpu tells over gRPC, and everything that can go wrong on the way."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.absence import Absence
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Reading
from accelwatch_tpu import TpuBackend
from accelwatch_tpu.mapping import NO_WORKLOAD
from accelwatch_tpu.runtime import BANDWIDTH, DUTY, TOTAL, USED, fetch_report, gauges
from backends.tpu.libtpu import Libtpu, point, response
from backends.tpu.machines import DOCUMENTS, NOBODY, lay_out_bus, write_program
from support.processes.waiting import GUARD_S

GIB = 1 << 30
METRICS = {
    TOTAL: response(TOTAL, *(point(at, 32 * GIB) for at in range(2))),
    USED: response(USED, point(0, 12 * GIB), point(1, 0)),
    DUTY: response(DUTY, point(0, 98.5), point(1, 0.0)),
}


@contextlib.contextmanager
def libtpu(metrics: Mapping[str, bytes]) -> Iterator[Libtpu]:
    server = Libtpu(metrics)
    yield server
    server.close()


def shown(root: Path, port: int, device: str = "0x006f", chips: int = 2) -> list[Reading]:
    lay_out_bus(root, device, "", chips)
    backend = TpuBackend(Context(root=root, options={"port": port}))
    backend.open()
    read = [backend.read(device, Request())[0] for device in backend.discover()]
    backend.close()
    return read


def test_a_workload_reports_memory_and_load(tmp_path: Path) -> None:
    with libtpu(METRICS) as server:
        first, second = shown(tmp_path, server.port)
    assert first.values["memory_size_bytes",] == 32 * GIB
    assert first.values["memory_used_bytes",] == 12 * GIB
    assert first.values["utilization_ratio",] == pytest.approx(0.985)
    assert (second.values["memory_used_bytes",], second.values["utilization_ratio",]) == (0, 0.0)
    assert first.absent["core_utilization_ratio",] is Absence.UNSUPPORTED
    assert first.absent["processes",] is Absence.UNSUPPORTED


def test_a_host_of_a_slice_of_several(tmp_path: Path) -> None:
    """`device-id` counts over the whole slice."""
    metrics = {
        TOTAL: response(TOTAL, *(point(at, 32 * GIB) for at in (8, 13))),
        USED: response(USED, point(13, 5 * GIB), point(8, 1 * GIB)),
        DUTY: response(DUTY, point(8, 25.0), point(13, 75.0)),
    }
    with libtpu(metrics) as server:
        each = shown(tmp_path, server.port)
    assert [one.values["memory_used_bytes",] for one in each] == [1 * GIB, 5 * GIB]
    assert [one.values["utilization_ratio",] for one in each] == [0.25, 0.75]


def test_bandwidth_of_the_memory(tmp_path: Path) -> None:
    """A libtpu that does not know it costs nothing else."""
    known = {**METRICS, BANDWIDTH: response(BANDWIDTH, point(0, 62.5), point(1, 0.0))}
    with libtpu(known) as server:
        first, second = shown(tmp_path / "new", server.port)
    assert first.values["memory_bandwidth_utilization_ratio",] == 0.625
    assert second.values["memory_bandwidth_utilization_ratio",] == 0.0
    with libtpu(METRICS) as server:
        (first, _) = shown(tmp_path / "old", server.port)
    assert first.absent["memory_bandwidth_utilization_ratio",] is Absence.UNSUPPORTED


def test_bandwidth_is_requested_beside_the_command(tmp_path: Path) -> None:
    write_program(tmp_path)
    (tmp_path / "tpu.txt").write_bytes((DOCUMENTS / "v5e-x4.txt").read_bytes())
    counts = response(BANDWIDTH, *(point(at, 25.0 * at) for at in range(4)))
    with libtpu({BANDWIDTH: counts}) as server:
        read = shown(tmp_path, server.port, "0x0063", 4)
    shares = [reading.values["memory_bandwidth_utilization_ratio",] for reading in read]
    assert shares == [0.0, 0.25, 0.5, 0.75]
    assert read[0].values["memory_used_bytes",] == 12.5 * GIB


def test_a_chip_of_two_devices(tmp_path: Path) -> None:
    metrics = {**METRICS, DUTY: response(DUTY, point(0, 50.0))}
    with libtpu(metrics) as server:
        (chip,) = shown(tmp_path, server.port, "0x0076", 1)
    assert chip.values["memory_size_bytes",] == 64 * GIB
    assert chip.values["utilization_ratio",] == 0.5


def test_a_metric_that_this_libtpu_does_not_know(tmp_path: Path) -> None:
    with libtpu({name: METRICS[name] for name in (TOTAL, USED)}) as server:
        first, _ = shown(tmp_path, server.port)
    assert first.values["memory_used_bytes",] == 12 * GIB
    assert first.absent["utilization_ratio",] is Absence.UNSUPPORTED


def test_memory_without_its_size(tmp_path: Path) -> None:
    with libtpu({USED: METRICS[USED]}) as server:
        first, _ = shown(tmp_path, server.port)
    assert first.values["memory_used_bytes",] == 12 * GIB
    assert first.absent["memory_size_bytes",] is Absence.UNSUPPORTED


def test_where_the_command_has_nothing_the_runtime_is_queried(tmp_path: Path) -> None:
    write_program(tmp_path)
    (tmp_path / "tpu.txt").write_bytes((DOCUMENTS / "v6e-idle.txt").read_bytes())
    with libtpu(METRICS) as server:
        first, _ = shown(tmp_path, server.port)
    assert first.values["memory_used_bytes",] == 12 * GIB
    assert first.processes == (), "of the command"


def test_where_the_command_fails_the_runtime_is_queried(tmp_path: Path) -> None:
    write_program(tmp_path, "exit 1")
    with libtpu(METRICS) as server:
        first, _ = shown(tmp_path, server.port)
    assert first.values["utilization_ratio",] == pytest.approx(0.985)


def test_nobody_listens(tmp_path: Path) -> None:
    first, _ = shown(tmp_path, NOBODY["port"])
    assert first.notes == (NO_WORKLOAD,)


def test_what_is_no_message_is_an_error() -> None:
    with libtpu({TOTAL: b"\x0a\xff"}) as server, pytest.raises(ReadError, match="cut off"):
        fetch_report(server.port, timeout_s=GUARD_S, clock=SystemClock())


def test_values_that_cannot_be_true() -> None:
    points = (point(0, -1.0), point(1, float("nan")), point(2, float("inf")), point(3, 7))
    values = gauges(response(DUTY, *points))
    assert values == {0: Absence.ERROR, 1: Absence.ERROR, 2: Absence.ERROR, 3: 7.0}
    assert gauges(b"") == {}


@given(st.data())
def test_damaged_messages(data: st.DataObject) -> None:
    whole = METRICS[data.draw(st.sampled_from(sorted(METRICS)))]
    at = data.draw(st.integers(0, len(whole) - 1))
    octet = data.draw(st.integers(0, 255))
    with contextlib.suppress(SourceError):
        gauges(whole[:at] + bytes((octet,)) + whole[at + 1 :])
    with contextlib.suppress(SourceError):
        gauges(whole[:at])
